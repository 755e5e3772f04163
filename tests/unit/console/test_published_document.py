"""The published document describes all that it names: properties, parameters, schemas, operations and responses."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pytest
import schemathesis
from jsonschema import Draft202012Validator

from svc_pg.console import Console
from svc_pg.console.published_document import published_document
from tests.integration.console.serving import settings

DOCUMENT: Final[Any] = published_document()
METHODS: Final = {"get", "post", "patch", "delete", "head"}

Found = tuple[str, Mapping[str, Any]]


def operations() -> Iterator[Found]:
    for path, item in {**DOCUMENT["paths"], **DOCUMENT.get("webhooks", {})}.items():
        yield from ((f"{method.upper()} {path}", item[method]) for method in METHODS & item.keys())


def nodes(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Each object of the document, with its path."""
    if isinstance(node, Mapping):
        yield path, node
        for name, member in node.items():
            if name not in ("example", "examples"):
                yield from nodes(member, f"{path}/{name}")
    elif isinstance(node, Sequence) and not isinstance(node, str):
        for index, item in enumerate(node):
            yield from nodes(item, f"{path}/{index}")


def properties() -> Iterator[Found]:
    for path, node in nodes(DOCUMENT):
        if isinstance(node.get("properties"), Mapping) and not path.endswith("/properties"):
            yield from ((f"{path}/{name}", schema) for name, schema in node["properties"].items())


def parameters() -> Iterator[Found]:
    for name, operation in operations():
        yield from ((f"{name} {each['in']} {each['name']}", each) for each in operation.get("parameters", []))


def undescribed(found: Iterator[Found]) -> list[str]:
    return [path for path, node in found if not re.match(r"\S.*\S", node.get("description", ""), re.DOTALL)]


def needs_example(schema: Mapping[str, Any]) -> bool:
    """True of texts and numbers, and of lists of them, unless they are some of a few words."""
    if {"$ref", "enum", "x-extensible-enum"} & schema.keys():
        return False
    if "anyOf" in schema:
        return any(needs_example(option) for option in schema["anyOf"])
    types = schema.get("type", [])
    if "array" in types and "$ref" not in schema.get("items", {}):
        return needs_example(schema["items"])
    return bool({*([types] if isinstance(types, str) else types)} & {"string", "integer", "number"})


def test_the_document_is_valid_openapi() -> None:
    schemathesis.openapi.from_dict(DOCUMENT).validate()


def test_every_property_is_described() -> None:
    assert undescribed(properties()) == []


def test_every_parameter_is_described() -> None:
    assert undescribed(parameters()) == []


def test_every_schema_is_described() -> None:
    schemas: Mapping[str, Any] = DOCUMENT["components"]["schemas"]
    assert undescribed(iter(schemas.items())) == []


def test_every_operation_has_a_summary_and_a_description() -> None:
    assert undescribed(operations()) == []
    assert [name for name, operation in operations() if not operation.get("summary")] == []


def test_every_operation_has_the_name_of_a_method_of_a_client() -> None:
    names = [operation["operationId"] for _, operation in operations()]
    assert [name for name in names if not re.fullmatch(r"[a-z]+(_[a-z]+)*\.[a-z]+(_[a-z]+)*", name)] == []
    assert len(names) == len(set(names))
    assert {"endpoints.list", "endpoints.rotate_secret", "entries.export", "events.send"} <= set(names)


def test_every_response_and_its_headers_are_described() -> None:
    responses = [(f"{name} {status}", each) for name, op in operations() for status, each in op["responses"].items()]
    assert undescribed(iter(responses)) == []
    headers: Mapping[str, Any] = DOCUMENT["components"]["headers"]
    assert undescribed(iter(headers.items())) == []
    assert [name for name, header in headers.items() if not has_example(header["schema"])] == []
    assert {header for _, each in responses for header in each.get("headers", {})} == headers.keys()
    assert [name for name, each in responses if re.fullmatch(r"[\w ]+\.?", each["description"])] == []  # a bare phrase


def test_every_tag_and_security_scheme_is_described() -> None:
    assert undescribed((each["name"], each) for each in DOCUMENT["tags"]) == []
    assert undescribed(iter(DOCUMENT["components"]["securitySchemes"].items())) == []
    assert {tag for _, operation in operations() for tag in operation["tags"]} == {
        each["name"] for each in DOCUMENT["tags"]
    }


def test_no_answer_closes_a_list_of_texts_that_may_grow() -> None:
    """Only bodies and parameters have an ``enum``: what the server takes it knows."""
    names = {name for _, operation in operations() for name in schemas_of(operation["responses"])}
    answers = {name: DOCUMENT["components"]["schemas"][name] for name in names}
    inline = {name: operation["responses"] for name, operation in operations()}
    assert len(answers) > 60
    assert [path for path, node in nodes({**answers, **inline}) if "enum" in node] == []


def schemas_of(node: Any) -> set[str]:
    """The names of the components to which a part of the document leads."""
    found: set[str] = set()
    waiting = [node]
    while waiting:
        refs = {
            each["$ref"].rsplit("/", 1)[1] for _, each in nodes(waiting.pop()) if "/schemas/" in each.get("$ref", "")
        } - found
        found |= refs
        waiting += [DOCUMENT["components"]["schemas"][name] for name in refs]
    return found


def test_every_text_and_number_has_an_example() -> None:
    found = [*properties(), *((path, each["schema"]) for path, each in parameters())]
    assert [path for path, schema in found if needs_example(schema) and not has_example(schema)] == []


def has_example(schema: Mapping[str, Any]) -> bool:
    return "examples" in schema or ("items" in schema and has_example(schema["items"]))


def test_every_body_of_a_request_has_an_example() -> None:
    bodies = [
        (name, operation["requestBody"]["content"]) for name, operation in operations() if "requestBody" in operation
    ]
    contents = [
        (name, each) for name, content in bodies if name.split()[1] in DOCUMENT["paths"] for each in content.values()
    ]
    assert len(contents) > 15
    assert [name for name, content in contents if "example" not in content] == []


def test_every_example_is_one_that_its_schema_allows() -> None:
    root = {"components": DOCUMENT["components"]}
    refused = []
    for path, node in nodes(DOCUMENT):
        given = [(node, each) for each in node.get("examples", []) if isinstance(node.get("examples"), list)]
        given += [(node["schema"], node["example"])] if {"schema", "example"} <= node.keys() else []
        validators = [(Draft202012Validator({**root, **schema}), example) for schema, example in given]
        refused += [(path, example) for validator, example in validators if not validator.is_valid(example)]
    assert refused == []


def test_no_description_has_a_name_of_python() -> None:
    described = [node["description"] for _, node in nodes(DOCUMENT) if isinstance(node.get("description"), str)]
    assert [words for words in described if re.search(r"``|\bNone\b|\bRaises\b", words)] == []


def test_no_setting_of_the_environment_changes_the_document(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SVC_CONSOLE_AUTO_APPROVE", "true")
    monkeypatch.setenv("SVC_CONSOLE_TRUSTED_PROXIES", "nonsense")
    monkeypatch.setenv("DATABASE_URL", "nonsense")
    assert published_document() == DOCUMENT


def test_the_routes_of_auto_approve_are_described_too() -> None:
    other: Any = Console(settings()).openapi()
    operation = other["paths"]["/console/session/init"]["post"]
    assert {"summary", "description"} <= operation.keys()
    model = other["components"]["schemas"]["ApprovedSession"]
    assert undescribed(iter(model["properties"].items())) == []
