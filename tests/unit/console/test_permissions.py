import pytest

from svc_pg.console.sign_in.permissions import included, least, permission_of
from svc_pg.settings import Permission

ALLOWED: dict[str, Permission] = {"*@corp.example": "write", "ann@corp.example": "read", "bob@other.example": "admin"}


@pytest.mark.parametrize(
    ("email", "permission"),
    [
        ("ann@corp.example", "read"),
        ("eve@corp.example", "write"),
        ("bob@other.example", "admin"),
        ("eve@other.example", None),
        ("eve@sub.corp.example", None),
        ("eve@corp.example.evil.example", None),
        ("eve@evilcorp.example", None),
    ],
)
def test_an_exact_address_beats_a_pattern_also_downwards(email: str, permission: Permission | None) -> None:
    assert permission_of(email, ALLOWED) == permission


def test_the_lower_permission_counts() -> None:
    assert least("admin", "read") == least("read", "admin") == "read"
    assert least("write", "write") == "write"


def test_a_permission_includes_those_below_it() -> None:
    assert included("read") == ("read",)
    assert included("admin") == ("read", "write", "admin")
