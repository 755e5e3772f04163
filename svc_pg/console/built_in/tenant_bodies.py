"""Request bodies of the tenant routes."""

from typing import Annotated
from unicodedata import category

from pydantic import AfterValidator, Field, field_validator

from svc_pg.console.built_in.webhook_bodies import Text
from svc_pg.console.http.body import RequestBody
from svc_pg.database.storable_texts import MAX_TENANT_CHARACTERS


class UpdateTenantRequest(RequestBody):
    """The new name of a tenant."""

    name: str = Field(
        min_length=1, max_length=200, description="For people; one line, without spaces around it.", examples=["Acme"]
    )

    @field_validator("name")
    @classmethod
    def _is_one_line(cls, name: str) -> str:
        if name != name.strip() or any(category(character) == "Cc" for character in name):
            raise ValueError("a name has no spaces around it and no control characters")
        return name


def _is_segment(tenant: str) -> str:
    if tenant in (".", ".."):
        raise ValueError("is no segment of a path, which browsers would leave out")
    return tenant


class CreateTenantRequest(UpdateTenantRequest):
    """A tenant to add."""

    id: Annotated[Text, AfterValidator(_is_segment)] | None = Field(
        default=None,
        min_length=1,
        max_length=MAX_TENANT_CHARACTERS,
        description="As entries, messages and endpoints name it. Default: the table makes one, svc.tenants a UUID.",
        examples=["acme"],
    )
