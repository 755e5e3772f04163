"""The hash tree of a seal is the one of RFC 9162."""

from hashlib import sha256

import pytest

from svc_pg.seals.verification.tree import EMPTY_ROOT, PathStep, path_to_root, root_above, root_of


def by_definition(leaves: list[bytes]) -> bytes:
    """RFC 9162, section 2.1.1, as it is written there."""
    if len(leaves) == 1:
        return sha256(b"\0" + leaves[0]).digest()
    k = 1
    while k * 2 < len(leaves):
        k *= 2
    return sha256(b"\1" + by_definition(leaves[:k]) + by_definition(leaves[k:])).digest()


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6, 7, 8, 9, 31, 32, 33, 1000])
def test_the_root_is_the_one_of_the_definition_and_each_leaf_has_a_path_to_it(size: int) -> None:
    leaves = [bytes([n % 256, n // 256]) * 24 for n in range(size)]
    root = root_of(leaves)
    assert root == by_definition(leaves)
    for index in {*range(min(size, 40)), size - 1}:
        path = path_to_root(leaves, index)
        assert root_above(leaves[index], path) == root
        assert len(path) <= 10
        assert root_above(b"x" * 48, path) != root
        if path:
            turned = [PathStep(is_left=not path[0].is_left, digest=path[0].digest), *path[1:]]
            assert root_above(leaves[index], turned) != root


def test_nothing_has_the_root_of_nothing() -> None:
    assert root_of([]) == EMPTY_ROOT == sha256(b"").digest()
