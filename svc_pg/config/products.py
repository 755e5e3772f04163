"""The products that a database may have: the audit trail, alone or with webhooks."""

from typing import Annotated, Final, Literal, get_args

from pydantic import AfterValidator

ProductId = Literal["audit", "webhooks"]
PRODUCTS: Final[tuple[ProductId, ...]] = get_args(ProductId)


def _with_audit(value: list[ProductId]) -> list[ProductId]:
    if "audit" not in value:
        if value:
            raise ValueError(
                "webhooks need the audit log, which has the changes of endpoints; leave it out: without"
                " [[audit.tables]] no table of yours is recorded"
            )
        raise ValueError('it is empty; write ["audit"], or leave it out for both')
    return [product for product in PRODUCTS if product in value]


Products = Annotated[list[ProductId], AfterValidator(_with_audit)]
"""The products that are wanted, in their order and each once."""
