"""Records by what people call them: ``order 17``, ``orders/17``, ``sales.order:17``."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

_NAMED: Final = re.compile(r"(?P<table>\S+?)(?:\s+#?|/|#|:)(?P<record>\S.*)", re.DOTALL)


def split_name(text: str) -> tuple[str, str] | None:
    """The name of a table and the key of a record in a text; None if it has no two parts."""
    found = _NAMED.fullmatch(text.strip())
    return None if found is None else (found["table"], found["record"])


def named(tables: Iterable[str], typed: str) -> Sequence[Sequence[str]]:
    """The tables that the typed name may mean, the surest first; those that it means as surely as others together.

    It is the name of a table, with its schema or without, or its singular or plural, or that of its end behind an
    underscore, as Django names tables, or its beginning: ``order`` means ``order``, ``orders``, ``shop_order``, and
    ``order_items``, in this order.
    """
    wanted = typed.casefold()
    fits: list[list[str]] = [[], [], [], []]
    for table in tables:
        full = table.casefold()
        names = (full, full.rpartition(".")[2].strip('"'))
        if wanted in names:
            fits[0].append(table)
        elif any(_numbers(wanted) & _numbers(name) for name in names):
            fits[1].append(table)
        elif any(_numbers(wanted) & _numbers(end) for end in _ends(full)):
            fits[2].append(table)
        elif any(name.startswith(wanted) for name in names):
            fits[3].append(table)
    return [each for each in fits if each]


def _ends(full: str) -> Iterator[str]:
    """The parts of a table's name behind its underscores, with the schema and without."""
    schema, _, name = full.rpartition(".")
    _, *words = name.strip('"').split("_")
    for first in range(len(words)):
        end = "_".join(words[first:])
        yield from (end, f"{schema}.{end}")


def _numbers(name: str) -> set[str]:
    """The singulars that a name may have, itself among them."""
    found = {name}
    if name.endswith("s"):
        found.add(name[:-1])
    if name.endswith("es"):
        found.add(name[:-2])
    if name.endswith("ies"):
        found.add(name[:-3] + "y")
    return found
