"""Describe a field where it is declared: ``Annotated[str, Doc("The name of the event.", "order.created")]``."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Doc:
    """The description of a field, in sentences, and an example of its value as JSON has it.

    The OpenAPI document and the reference of Python read it. A field of several classes has one Doc for all.
    """

    words: str
    example: object = None
