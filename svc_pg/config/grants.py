"""Which of the database's roles may send, read and administer."""

from typing import Annotated

from pydantic import Field

from svc_pg.config.model import StrictModel

RoleName = Annotated[str, Field(min_length=1)]


class Grants(StrictModel):
    """Existing roles, by name, and what they may do in this database.

    ``send`` calls ``svc.send``; ``read`` reads the audit log, messages, deliveries and endpoints without their secrets;
    ``admin`` does all that an administrator does, and is what ``svc-pg worker`` and the console connect as. A role that
    is not named any more loses its rights with the next install. Capture needs no grant.
    """

    send: list[RoleName] = []
    read: list[RoleName] = []
    admin: list[RoleName] = []
