"""The operations of an OpenAPI document as methods of a client."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from svc_pg.client.operations import PAGING
from tests.support.client_words import Schema, answer_type, call, class_of, docstring, given_type, reference, snake

ROWS: Final = {"application/x-ndjson": "Entry"}
"""The rows of a stream, which its media type does not tell."""


@dataclass(frozen=True, slots=True)
class Described:
    """One operation, in the words of the document and in those of Python.

    ``model`` is the class of its answer or of the rows of it, and ``sometimes`` are the members of models that this
    answer may lack.
    """

    id: str
    method: str
    path: str
    words: str
    query: Sequence[Schema]
    paging: Sequence[Schema]
    formats: Sequence[Schema]
    body: Schema | None
    has_key: bool
    has_if_match: bool
    signed_by: str
    media_types: Sequence[str]
    model: str
    answer: str
    sometimes: Mapping[str, Sequence[str]]

    @property
    def resource(self) -> str:
        return self.id.partition(".")[0]

    @property
    def action(self) -> str:
        return self.id.partition(".")[2]

    @property
    def constant(self) -> str:
        return self.id.replace(".", "_").upper()

    @property
    def query_name(self) -> str:
        return f"{class_of(self.id)}Query"

    @property
    def whole_query(self) -> str | None:
        """The class of all that its query takes: with the position of a page, or the format of a file."""
        if self.paging or self.formats:
            return f"{class_of(self.id)}{'Page' if self.paging else 'File'}"
        return self.query_name if self.query else None

    def methods(self, *, is_async: bool) -> Iterator[list[str]]:
        """Its method, and that which goes through all pages, or writes a file."""
        stream = "AsyncStream" if is_async else "Stream"
        if "text/event-stream" in self.media_types:
            yield self._method(self.action, f"{stream}[ServerEvent]", "stream", ["ServerEvents"], is_async=False)
        elif self.formats:
            row = f"models.{self.model}"
            reader = f"lambda most: Lines({row}, most)"
            yield self._method(self.action, f"{stream}[{row}]", "stream", [reader], is_async=False)
            yield self._file(f"{stream}[bytes]")
        else:
            yield self._method(self.action, self._returned(), "answer", [], is_async=is_async)
        if self.paging and self.answer.startswith("Page["):
            yield self._iterate("AsyncIterator" if is_async else "Iterator")

    def _returned(self) -> str:
        return {"NoneType": "None"}.get(self.answer, self.answer.replace("list[", "Sequence["))

    def _path(self) -> list[str]:
        return [part[1:-1] for part in self.path.split("/") if part.startswith("{")]

    def _method(self, name: str, returned: str, verb: str, first: Sequence[str], *, is_async: bool) -> list[str]:
        parameters = ["self", *(f"{part}: str" for part in self._path())]
        keywords: list[str] = []
        given = [f"path=[{', '.join(self._path())}]"] if self._path() else []
        if self.signed_by == "device":
            keywords.append("device_token: str")
            given.append("device_token=device_token")
        if self.has_if_match:
            keywords.append('if_match: str | None = "*"')
            given.append("if_match=if_match")
        if self.has_key:
            keywords.append("idempotency_key: str | None = None")
            given.append("idempotency_key=idempotency_key")
        last: list[str] = []
        if self.body is not None:
            last = [f"**body: Unpack[requests.{reference(self.body)}]"]
            given.append("body=body" if self.body.get("x-required") else "body=body or None")
        elif self.whole_query is not None:
            last = [f"**query: Unpack[requests.{self.query_name if self.formats else self.whole_query}]"]
            given.append("query=query")
        assert not {"if_match", "idempotency_key", "device_token"} & {snake(each["name"]) for each in self.query}
        signature = [*parameters, *(["*", *keywords] if keywords else []), *last]
        arguments = [f"ops.{self.constant}", *first, *([f"Arguments({', '.join(given)})"] if given else [])]
        return [
            *call(f"{'async ' if is_async else ''}def {name}", signature, f" -> {returned}:", 4),
            *docstring(self.words, 8),
            *call(f"return {'await ' if is_async else ''}self._api.{verb}", arguments, "", 8),
        ]

    def _iterate(self, iterator: str) -> list[str]:
        name = (
            f"iterate{self.action.removeprefix('list')}" if self.action.startswith("list") else f"iterate_{self.action}"
        )
        query = [f"**query: Unpack[requests.{self.query_name}]"] if self.query else []
        parts = self._path()
        signature = ["self", *(f"{part}: str" for part in parts), "*", "page_size: int | None = None", *query]
        given = [f"path=[{', '.join(parts)}]"] if parts else []
        given += ["query=query"] if self.query else []
        arguments = [f"ops.{self.constant}", f"Arguments({', '.join(given)})", "page_size"]
        words = f"As ``{self.action}``, but all rows, page by page as they are asked for."
        return [
            *call(f"def {name}", signature, f" -> {iterator}[models.{self.model}]:", 4),
            *docstring(words, 8),
            *call("return self._api.iterate", arguments, "", 8),
        ]

    def _file(self, returned: str) -> list[str]:
        schema = self.formats[0]["schema"]
        signature = [
            "self", "*", f'format: {given_type(schema)} = "{schema["default"]}"',
            f"**query: Unpack[requests.{self.query_name}]",
        ]  # fmt: skip
        words = f"As ``{self.action}``, but the parts of a file, to be written one after the other."
        given = 'Arguments(query={**query, "format": format})'
        return [
            *call(f"def {self.action}_file", signature, f" -> {returned}:", 4),
            *docstring(words, 8),
            *call("return self._api.stream", [f"ops.{self.constant}", "lambda _: Parts()", given], "", 8),
        ]


def described(document: Mapping[str, Any]) -> list[Described]:
    """The operations of a document but for HEAD, which are those of GET without the answer."""
    return [
        _described(document, path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if method != "head"
    ]


def _described(document: Mapping[str, Any], path: str, method: str, operation: Mapping[str, Any]) -> Described:
    parameters = operation["parameters"]
    query = [each for each in parameters if each["in"] == "query"]
    headers = {each["name"] for each in parameters if each["in"] == "header"}
    assert headers <= {"If-Match", "Idempotency-Key"}, headers
    has_cursor = any(each["name"] == "cursor" for each in query)
    paging = [each for each in query if has_cursor and each["name"] in PAGING]
    [success] = [answer for status, answer in operation["responses"].items() if status.startswith("2")]
    media_types = list(success.get("content", {}))
    is_file = len(media_types) > 1
    formats = [each for each in query if is_file and each["name"] == "format"]
    schema = success["content"][media_types[0]]["schema"] if media_types else None
    model, answer, sometimes = _answer(document, schema)
    if is_file:
        model = next(ROWS[each] for each in media_types if each in ROWS)
    summary = f"{operation.get('summary', operation['operationId']).rstrip('.')}."
    body = operation.get("requestBody")
    return Described(
        id=operation["operationId"],
        method=method.upper(),
        path=path,
        words="\n\n".join(filter(None, [summary, operation["description"]])),
        query=[each for each in query if each not in [*paging, *formats]],
        paging=paging,
        formats=formats,
        body={**body["content"]["application/json"]["schema"], "x-required": body["required"]} if body else None,
        has_key="Idempotency-Key" in headers,
        has_if_match="If-Match" in headers,
        signed_by=next(iter(operation["security"][0])) if operation["security"] else "none",
        media_types=media_types,
        model=model,
        answer=answer,
        sometimes=sometimes,
    )


def _answer(document: Mapping[str, Any], schema: Schema | None) -> tuple[str, str, Mapping[str, Sequence[str]]]:
    """The model of an answer or of its rows, the type of the answer, and the members of models that it may lack."""
    if schema is None:
        return "", "NoneType", {}
    if "$ref" in schema:
        return reference(schema), f"models.{reference(schema)}", {}
    rows = schema.get("properties", {}).get("data")
    if rows is not None:
        model, sometimes = _row(document, rows["items"])
        return model, f"Page[models.{model}]", sometimes
    if schema.get("type") == "array":
        return reference(schema["items"]), f"list[models.{reference(schema['items'])}]", {}
    return "", "dict[str, Any]" if schema.get("type") == "object" else answer_type(schema), {}


def _row(document: Mapping[str, Any], schema: Schema) -> tuple[str, Mapping[str, Sequence[str]]]:
    """The model of a row, and its members that a caller may leave out of the rows."""
    if "$ref" in schema:
        return reference(schema), {}
    models = document["components"]["schemas"]
    [model] = [name for name, each in models.items() if each.get("properties") == schema["properties"]]
    return model, {model: [name for name in schema["properties"] if name not in schema["required"]]}
