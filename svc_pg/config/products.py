"""The products that a database may have: the audit trail, webhooks, or both."""

from collections.abc import Mapping
from typing import Annotated, Final, get_args

from pydantic import AfterValidator

from svc_pg.database.sql_products import ProductId

PRODUCTS: Final[tuple[ProductId, ...]] = get_args(ProductId)


def _some(value: list[ProductId]) -> list[ProductId]:
    if not value:
        raise ValueError('it is empty; write ["audit"] or ["webhooks"], or leave it out for both')
    return [product for product in PRODUCTS if product in value]


Products = Annotated[list[ProductId], AfterValidator(_some)]
"""The products that are wanted, in their order and each once."""
NAMES: Final[Mapping[ProductId, str]] = {"audit": "the audit trail", "webhooks": "webhooks"}
"""The products in words for people."""
