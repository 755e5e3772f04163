"""Draw a proof: the way from an entry up to the root of its seal, as a tree and a list; and a digest as a QR code."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import segno

from svc_pg.seals.verification.proof import Proof
from svc_pg.seals.verification.tree import leaf_digest, node_digest

WIDTH: Final = 640
_TOP: Final = 10
_STEP: Final = 26
_NARROWEST: Final = 11.0
_FAINT: Final = 5
"""The levels below the root down to which the rest of the tree is drawn too."""
_QUIET: Final = 4
"""The light border of a QR code, in its modules, which readers need."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the way, by its digest and the places of its entries in the seal, counted from 1.

    ``beside`` is the digest of the node with which it makes the one above; None of the root. ``is_left`` tells on which
    side that stands.
    """

    digest: str
    first: int
    last: int
    beside: str | None = None
    is_left: bool = False


@dataclass(frozen=True, slots=True)
class Point:
    """A place in the drawing."""

    x: float
    y: int


@dataclass(frozen=True, slots=True)
class Drawing:
    """The tree: the ``d`` of its lines and of the way, and its points, of the way from the root down."""

    height: int
    thin: str
    way: str
    own: Sequence[Point]
    given: Sequence[Point]


def nodes_of(proof: Proof, place: int, leaf: bytes) -> Sequence[Node]:
    """The nodes of the way of a leaf, from the root down to it."""
    digest, size, level, found = leaf_digest(leaf), proof.seal.entries, 0, []
    steps = iter(proof.path)
    width = size
    while width > 1:
        if (place ^ 1) < width and (step := next(steps, None)) is not None:
            found.append(_node(digest, place, level, size, step.digest.hex(), is_left=step.is_left))
            digest = node_digest(step.digest, digest) if step.is_left else node_digest(digest, step.digest)
        place, level, width = place // 2, level + 1, (width + 1) // 2
    return [_node(digest, place, level, size), *reversed(found)]


def _node(
    digest: bytes, place: int, level: int, size: int, beside: str | None = None, *, is_left: bool = False
) -> Node:
    first = (place << level) + 1
    return Node(digest.hex(), first, min((place + 1) << level, size), beside, is_left)


def drawing_of(nodes: Sequence[Node]) -> Drawing:
    """The drawing of a way, whose points get narrower from level to level."""
    x, half = WIDTH / 2, WIDTH / 4
    own, given, thin, way = [Point(x, _TOP)], [], [], []
    for depth, node in enumerate(nodes[1:], start=1):
        above, y = own[-1], _TOP + _STEP * depth
        half_here = max(half, _NARROWEST)
        side = 1 if node.is_left else -1  # what is given stands on its left, so it is the right one itself
        mine, theirs = Point(round(x + side * half_here, 1), y), Point(round(x - side * half_here, 1), y)
        thin.append(_line(above, theirs))
        thin += _below(theirs, depth, half / 2)
        way.append(_line(above, mine))
        own.append(mine)
        given.append(theirs)
        x, half = mine.x, half / 2
    height = _TOP * 2 + _STEP * max(len(nodes) - 1, _FAINT if len(nodes) > 1 else 0)
    return Drawing(height, "".join(thin), "".join(way), own, given)


def _below(point: Point, depth: int, half: float) -> Iterator[str]:
    if depth >= _FAINT or half < _NARROWEST / 2:
        return
    for side in (-1, 1):
        child = Point(round(point.x + side * half, 1), point.y + _STEP)
        yield _line(point, child)
        yield from _below(child, depth + 1, half / 2)


def _line(one: Point, other: Point) -> str:
    return f"M{one.x:g} {one.y}L{other.x:g} {other.y}"


@dataclass(frozen=True, slots=True)
class QrCode:
    """A QR code: the number of its modules on a side, and the ``d`` of the dark ones."""

    size: int
    dark: str


@lru_cache(maxsize=64)
def qr_code(text: str) -> QrCode:
    """The QR code of a text, with its quiet zone; the same text has the same code."""
    code = segno.make(text, error="m", micro=False, boost_error=False)
    rows = [bytes(row) for row in code.matrix]
    parts = []
    for y, row in enumerate(rows):
        x = 0
        while x < len(row):
            end = x
            while end < len(row) and row[end]:
                end += 1
            if end > x:
                parts.append(f"M{x + _QUIET} {y + _QUIET}h{end - x}v1h-{end - x}z")
            x = end + 1
    return QrCode(len(rows) + 2 * _QUIET, "".join(parts))
