"""A hash tree over the leaves of a seal, as in RFC 9162, section 2.1: its root, and the path from a leaf to it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

EMPTY_ROOT: Final = sha256(b"").digest()


@dataclass(frozen=True, slots=True)
class PathStep:
    """A node beside the way from a leaf to the root: its digest, and the side on which it stands."""

    is_left: bool
    digest: bytes


def leaf_digest(leaf: bytes) -> bytes:
    """The lowest node: the digest of a leaf behind a zero byte."""
    return sha256(b"\0" + leaf).digest()


def node_digest(left: bytes, right: bytes) -> bytes:
    """The node above two others: their digest behind a one."""
    return sha256(b"\1" + left + right).digest()


def root_of(leaves: Iterable[bytes]) -> bytes:
    """The root of the tree over the leaves."""
    return (levels_of(leaves)[-1] or [EMPTY_ROOT])[0]


def levels_of(leaves: Iterable[bytes]) -> list[list[bytes]]:
    """All nodes of the tree over the leaves, level by level, the lowest first."""
    levels = [[leaf_digest(leaf) for leaf in leaves]]
    while len(levels[-1]) > 1:
        levels.append(_above(levels[-1]))
    return levels


def path_in(levels: Sequence[Sequence[bytes]], index: int) -> list[PathStep]:
    """The nodes beside the way from the leaf at ``index`` up through the levels of its tree, the lowest first."""
    path = []
    for level in levels[:-1]:
        beside = index ^ 1
        if beside < len(level):
            path.append(PathStep(is_left=beside < index, digest=level[beside]))
        index //= 2
    return path


def path_to_root(leaves: Sequence[bytes], index: int) -> list[PathStep]:
    """The nodes beside the way from the leaf at ``index``, the lowest first."""
    return path_in(levels_of(leaves), index)


def root_above(leaf: bytes, path: Iterable[PathStep]) -> bytes:
    """The root of the leaf by this path."""
    digest = leaf_digest(leaf)
    for step in path:
        digest = node_digest(step.digest, digest) if step.is_left else node_digest(digest, step.digest)
    return digest


def _above(level: list[bytes]) -> list[bytes]:
    """The nodes above a level; one without a neighbour rises as it is."""
    pairs = [sha256(b"\1" + left + right).digest() for left, right in zip(level[::2], level[1::2], strict=False)]
    return pairs if len(level) % 2 == 0 else [*pairs, level[-1]]
