from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Generic, Literal, TypeVar

import pytest
import schemathesis
from pydantic import Field

from svc_pg.console import AuthenticatedRequest, ConsoleResponse, Page, Parameter, Product, ProductEndpoint, RequestBody
from svc_pg.console.http.documentation import Documentation, in_path
from svc_pg.console.http.parameters import PAGE, FilterParameter, documented
from svc_pg.console.openapi.api_document import ApiDocument
from svc_pg.console.openapi.document import Route, document, product_routes
from svc_pg.console.openapi.json_schema import Schemas
from svc_pg.database.query import RawJson
from svc_pg.errors import ConfigError
from svc_pg.formats.doc import Doc
from svc_pg.settings import Permission

Item = TypeVar("Item")


@dataclass
class Order:
    order_id: str
    placed_at: datetime
    payload: RawJson | None
    note: str | None
    replaces: "list[Order]"


@dataclass
class Pair(Generic[Item]):
    first_item: Item
    others: list[Item]


class NewOrder(RequestBody):
    customer_id: str
    note: str | None = None


async def answer(_request: AuthenticatedRequest) -> ConsoleResponse:
    return ConsoleResponse()


def shop() -> Product:
    return Product(
        id="shop",
        name="Shop",
        endpoints=[
            ProductEndpoint(method="GET", path="/orders", handler=answer, query=documented(PAGE), response=Page[Order]),
            ProductEndpoint(
                method="POST",
                path="/orders",
                handler=answer,
                required_permission="write",
                summary="Place an order",
                body=NewOrder,
                body_example={"customerId": "c-1"},
                response=Order,
                status=201,
                errors={"unknown_customer": 404, "sold_out": 409},
            ),
            ProductEndpoint(
                method="DELETE", path="orders/:id", handler=answer, required_permission="admin", status=204
            ),
        ],
    )


def described(*, permission: Permission | None = "read", **fields: Any) -> Any:
    """The only operation of a document."""
    route = Route(method="GET", path="/x/:id", documentation=Documentation(**fields), tag="X", permission=permission)
    made: Any = document([route], title="X", server_url="/")
    return made["paths"]["/x/{id}"]["get"]


@pytest.fixture
def made() -> Any:
    return document(product_routes(shop(), below="/shop"), title="Shop", server_url="/base")


def test_the_document_is_valid_openapi(made: Any) -> None:
    schemathesis.openapi.from_dict(made).validate()
    assert made["openapi"] == "3.1.0"
    assert made["servers"] == [{"url": "/base"}]


def test_paths_have_their_parameters_in_braces(made: Any) -> None:
    assert list(made["paths"]) == ["/shop/orders", "/shop/orders/{id}"]
    [parameter] = made["paths"]["/shop/orders/{id}"]["delete"]["parameters"]
    assert (parameter["name"], parameter["in"], parameter["required"]) == ("id", "path", True)


def test_a_product_may_stand_alone() -> None:
    alone: Any = document(product_routes(shop(), below=""), title="Shop", server_url="/")
    assert list(alone["paths"]) == ["/orders", "/orders/{id}"]


def test_an_operation_names_the_permission_it_needs(made: Any) -> None:
    operations = made["paths"]["/shop/orders"]
    assert operations["get"]["security"] == [{"session": ["read"]}]
    assert operations["post"]["security"] == [{"session": ["write"]}]
    assert made["components"]["securitySchemes"]["session"]["scheme"] == "bearer"


def test_every_operation_has_an_id_of_its_own(made: Any) -> None:
    ids = [operation["operationId"] for item in made["paths"].values() for operation in item.values()]
    assert ids == ["get_shop_orders", "post_shop_orders", "delete_shop_orders_by_id"]


def test_a_body_is_described_by_its_model_under_the_names_of_the_wire(made: Any) -> None:
    body = made["paths"]["/shop/orders"]["post"]["requestBody"]
    assert body["required"] is True
    assert body["content"]["application/json"]["example"] == {"customerId": "c-1"}
    model = made["components"]["schemas"]["NewOrder"]
    assert (list(model["properties"]), model["required"]) == (["customerId", "note"], ["customerId"])
    assert model["additionalProperties"] is False


def test_a_body_of_optional_fields_may_be_left_out() -> None:
    class Filters(RequestBody):
        since: str | None = None

    assert described(body=Filters)["requestBody"]["required"] is False


def test_a_response_is_described_as_it_is_encoded(made: Any) -> None:
    order = made["components"]["schemas"]["Order"]
    assert order["required"] == ["orderId", "placedAt", "payload", "note", "replaces"]
    assert order["properties"] == {
        "orderId": {"type": "string"},
        "placedAt": {"type": "string", "format": "date-time"},
        "payload": {},
        "note": {"type": ["string", "null"]},
        "replaces": {"type": "array", "items": {"$ref": "#/components/schemas/Order"}},
    }
    page = made["paths"]["/shop/orders"]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    data, next_cursor = page["properties"]["data"], page["properties"]["nextCursor"]
    assert (data["type"], data["items"]) == ("array", {"$ref": "#/components/schemas/Order"})
    assert next_cursor["type"] == ["string", "null"]


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (timedelta, {"type": "number", "description": "In seconds."}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer", "format": "int64"}}),
        (tuple[bool, ...], {"type": "array", "items": {"type": "boolean"}}),
        (
            Literal["a", "b"],
            {
                "type": "string",
                "description": "One of a, b; later versions may have others.",
                "x-extensible-enum": ["a", "b"],
            },
        ),
        (Literal[1], {"type": "integer", "format": "int64", "enum": [1]}),
        (Annotated[float, "of something"], {"type": "number"}),
        (
            list[int] | str,
            {"anyOf": [{"type": "array", "items": {"type": "integer", "format": "int64"}}, {"type": "string"}]},
        ),
    ],
)
def test_other_types_have_one_schema_each(annotation: object, schema: object) -> None:
    assert Schemas().of(annotation) == schema


def test_a_generic_class_is_described_for_each_use() -> None:
    assert Schemas().of(Pair[int])["properties"] == {
        "firstItem": {"type": "integer", "format": "int64"},
        "others": {"type": "array", "items": {"type": "integer", "format": "int64"}},
    }


def other_order() -> type:
    @dataclass
    class NewOrder:
        id: int

    return NewOrder


def test_two_classes_of_one_name_are_two_components() -> None:
    schemas = Schemas([NewOrder])
    name = str(schemas.of(other_order())["$ref"]).removeprefix("#/components/schemas/")
    assert name != "NewOrder"
    assert schemas.components.keys() == {"NewOrder", name}
    assert schemas.components[name]["required"] == ["id"]


@pytest.mark.parametrize("annotation", [bytes, list, complex, Order.__init__])
def test_what_json_cannot_say_is_refused(annotation: object) -> None:
    with pytest.raises(ConfigError, match="cannot be described"):
        Schemas().of(annotation)


def test_each_status_of_a_problem_lists_its_codes(made: Any) -> None:
    responses = made["paths"]["/shop/orders"]["post"]["responses"]

    def codes(status: str) -> list[str]:
        found: list[str] = responses[status]["x-codes"]
        assert responses[status]["description"].endswith(f": {', '.join(found)}")
        return found

    assert codes("404") == ["unknown_customer"]
    assert codes("409") == ["sold_out"]
    assert codes("401") == ["not_authenticated", "invalid_token"]
    assert "invalid_body" in codes("422")
    assert "Retry-After" in responses["503"]["headers"]
    assert "Location" in responses["201"]["headers"]


def test_a_default_of_a_body_is_told_in_words_so_that_no_client_sends_it() -> None:
    class Wanted(RequestBody):
        size: int = Field(default=8, description="How many.")
        kind: Literal["a", "b"] = "a"
        note: str | None = None

    schemas = Schemas([Wanted])
    properties: Any = schemas.components["Wanted"]["properties"]
    assert all("default" not in field for field in properties.values())
    assert properties["size"]["description"] == "How many. Default: 8."
    assert (properties["kind"]["description"], "description" in properties["note"]) == ('Default: "a".', False)


@dataclass
class Parcel:
    """A parcel, which is ``in_transit`` if it is None of these."""

    weight: Annotated[float, Doc("Its weight in kilograms.", 2.5)]
    state: Annotated[Literal["lost", "found"] | None, Doc("Its state.")]
    sent_at: Annotated[datetime, Doc("The time of sending.")]


def test_a_field_is_described_where_it_is_declared() -> None:
    schemas = Schemas()
    schemas.of(Parcel)
    parcel: Any = schemas.components["Parcel"]
    assert parcel["description"] == "A parcel, which is `inTransit` if it is null of these."
    weight, state, sent_at = parcel["properties"].values()
    assert weight == {"type": "number", "description": "Its weight in kilograms.", "examples": [2.5]}
    assert state["description"] == "Its state."
    assert sent_at["examples"] == ["2026-03-14T09:26:53.589793Z"]


def test_two_operations_cannot_have_one_name() -> None:
    made = ApiDocument("X")
    routes = [
        Route(method="GET", path=path, documentation=Documentation(operation_id="orders.list"), tag="X")
        for path in ("/a", "/b")
    ]
    with pytest.raises(ConfigError, match=r"the name 'orders\.list' already"):
        made.refuse_taken(routes)
    made.add(routes[:1])
    with pytest.raises(ConfigError, match=r"orders\.list"):
        made.refuse_taken(routes[1:])


def test_a_tag_and_a_path_are_described_if_the_product_says_how() -> None:
    route = Route(
        method="GET",
        path="/orders/:id",
        documentation=Documentation(path_parameters=[in_path(Doc("The order.", "o-1"))], description="Slow."),
        tag="Shop",
    )
    made: Any = document([route], title="X", server_url="/", tags={"Shop": "What is sold."})
    operation = made["paths"]["/orders/{id}"]["get"]
    assert made["tags"] == [{"name": "Shop", "description": "What is sold."}]
    assert operation["description"] == "Slow. Needs no session."
    [parameter] = operation["parameters"]
    assert parameter["description"] == "The order."
    assert parameter["schema"] == {"type": "string", "examples": ["o-1"], "minLength": 1}


def test_a_route_without_a_session_promises_no_401() -> None:
    operation = described(permission=None)
    assert operation["security"] == []
    assert not {"401", "403", "503"} & operation["responses"].keys()


def test_a_route_may_need_the_token_of_a_device() -> None:
    assert described(permission=None, needs_device_token=True)["security"] == [{"device": []}]


def test_one_table_filters_and_documents() -> None:
    filters = {
        "colour": FilterParameter(str.__add__, "of one colour", {"enum": ["red"]}, is_required=True),
        "size": FilterParameter(str.__add__, "of a size"),
    }
    assert documented(filters) == [
        Parameter(name="colour", description="of one colour", schema={"enum": ["red"]}, is_required=True),
        Parameter(name="size", description="of a size"),
    ]
    assert described(query=documented(filters))["parameters"][1]["schema"] == {"enum": ["red"]}
    assert "422" in described(query=documented(filters))["responses"]


def test_a_header_is_described_as_one() -> None:
    [path, header] = described(headers=[Parameter(name="Idempotency-Key", description="of a repetition")])["parameters"]
    assert path["in"] == "path"
    assert (header["name"], header["in"], header["required"]) == ("Idempotency-Key", "header", False)


def test_a_product_without_documentation_is_described_too() -> None:
    plain = Product(id="plain", name="Plain", endpoints=[ProductEndpoint(method="GET", path="", handler=answer)])
    made: Any = document(product_routes(plain, below="/plain"), title="Plain", server_url="/")
    schemathesis.openapi.from_dict(made).validate()
    assert list(made["paths"]) == ["/plain"]
