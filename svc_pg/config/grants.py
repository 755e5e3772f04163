"""The roles of the database that may send, read and administer."""

from typing import Annotated

from pydantic import Field

from svc_pg.config.model import StrictModel

RoleName = Annotated[str, Field(min_length=1)]


class Grants(StrictModel):
    """Existing roles, by name, and what they may do in this database.

    ``send`` calls ``svc.send``; ``read`` reads the audit log, messages, deliveries and endpoints without their secrets;
    ``admin`` does all that an administrator does; ``svc-pg worker`` and the console connect as such a role. A role that
    is no longer named loses its rights with the next install. Capture needs no grant.
    """

    send: list[RoleName] = []
    read: list[RoleName] = []
    admin: list[RoleName] = []
