"""The products that a database may have: the audit trail, alone or with webhooks."""

from typing import Annotated, Final, Literal, get_args

from pydantic import AfterValidator

ProductId = Literal["audit", "webhooks"]
PRODUCTS: Final[tuple[ProductId, ...]] = get_args(ProductId)


def _with_audit(value: list[ProductId]) -> list[ProductId]:
    if "audit" not in value:
        advice = "webhooks need the audit log, which has the changes of endpoints" if value else "it is empty"
        raise ValueError(f'{advice}; write ["audit"], or leave it out for both')
    return [product for product in PRODUCTS if product in value]


Products = Annotated[list[ProductId], AfterValidator(_with_audit)]
"""The products that are wanted, in their order and each once."""
