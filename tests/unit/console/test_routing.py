import pytest

from svc_pg.console import ConsoleResponse, Product, ProductEndpoint
from svc_pg.console.http.products import permits
from svc_pg.console.http.requests import AuthenticatedRequest
from svc_pg.console.http.routing import Router
from svc_pg.errors import ConfigError
from svc_pg.settings import Permission


def answer(_request: AuthenticatedRequest) -> ConsoleResponse:
    return ConsoleResponse()


def router(*patterns: str) -> Router[str]:
    routes: Router[str] = Router()
    for pattern in patterns:
        routes.add("GET", pattern, pattern)
    return routes


def found(routes: Router[str], *segments: str, method: str = "GET") -> tuple[str, dict[str, str]] | None:
    match = routes.find(method, segments)
    return None if match is None else (match.target, dict(match.params))


def test_a_parameter_matches_one_segment_whatever_is_in_it() -> None:
    routes = router("/tenant/tenants/:id")
    assert found(routes, "tenant", "tenants", "a/b") == ("/tenant/tenants/:id", {"id": "a/b"})
    assert found(routes, "tenant", "tenants", "..") == ("/tenant/tenants/:id", {"id": ".."})


@pytest.mark.parametrize("segments", [("t",), ("t", "a", "b"), ("t", ""), ("T", "a"), ("", "t", "a"), ("t", "a", "")])
def test_a_path_with_other_segments_does_not_match(segments: tuple[str, ...]) -> None:
    assert found(router("/t/:id"), *segments) is None


def test_another_method_does_not_match() -> None:
    assert found(router("/t"), "t", method="POST") is None
    assert found(router("/t"), "t", method="HEAD") is None


@pytest.mark.parametrize("patterns", [("/t/:id", "/t/new"), ("/t/new", "/t/:id")])
def test_an_exact_segment_beats_a_parameter_in_any_order_of_registration(patterns: tuple[str, str]) -> None:
    assert found(router(*patterns), "t", "new") == ("/t/new", {})
    assert found(router(*patterns), "t", "7") == ("/t/:id", {"id": "7"})


def test_the_leftmost_exact_segment_decides() -> None:
    assert found(router("/:a/x", "/t/:b"), "t", "x") == ("/t/:b", {"b": "x"})


def test_an_exact_segment_that_leads_nowhere_does_not_hide_a_parameter() -> None:
    assert found(router("/t/new/x", "/t/:id/y"), "t", "new", "y") == ("/t/:id/y", {"id": "new"})


def test_of_routes_that_are_added_together_none_is_there_where_one_is_refused() -> None:
    routes = router("/t")
    with pytest.raises(ConfigError, match="there already"):
        routes.add_all([("GET", "/new", "new"), ("GET", "/t", "again")])
    assert found(routes, "new") is None
    routes.add_all([("GET", "/new", "new"), ("GET", "/newer", "newer")])
    assert found(routes, "newer") == ("newer", {})


def test_routes_that_match_the_same_requests_are_refused() -> None:
    routes = router("/t/:id")
    with pytest.raises(ConfigError, match="there already"):
        routes.add("GET", "/t/:name", "")
    routes.add("POST", "/t/:name", "")


@pytest.mark.parametrize("pattern", ["", "/", "/t/", "//t", "/t//x", "/t/:", "/t/:a-b", "/t/:a/:a"])
def test_a_pattern_that_cannot_match_is_refused(pattern: str) -> None:
    with pytest.raises(ConfigError):
        router(pattern)


@pytest.mark.parametrize("id_", ["", "a/b", "/a", "..", ":id", "a b", "é", "a%2Fb", "a\n"])
def test_a_product_id_that_is_no_plain_segment_is_refused(id_: str) -> None:
    with pytest.raises(ConfigError, match="product id"):
        Product(id=id_, name="Shop", endpoints=[])


def test_an_endpoint_with_an_unknown_method_or_permission_is_refused() -> None:
    with pytest.raises(ConfigError, match="GET, POST, PATCH, DELETE"):
        ProductEndpoint(method="PUT", path="/x", handler=answer)  # type: ignore[arg-type] # the error under test
    with pytest.raises(ConfigError, match="read, write, admin"):
        ProductEndpoint(method="GET", path="/x", handler=answer, required_permission="root")  # type: ignore[arg-type] # the error under test


@pytest.mark.parametrize(
    ("granted", "required", "is_permitted"),
    [
        (["read"], "read", True),
        (["read"], "write", False),
        (["write"], "read", True),
        (["write"], "admin", False),
        (["admin"], "read", True),
        (["read", "admin"], "write", True),
        ([], "read", False),
    ],
)
def test_a_greater_permission_includes_the_smaller(
    granted: list[Permission], required: Permission, *, is_permitted: bool
) -> None:
    assert permits(granted, required) is is_permitted
