"""The changes from one OpenAPI document to the next that break a client of the former, each as a sentence."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

Json = Mapping[str, Any]

ANYTHING: Final = "anything"
_MOST: Final = ("maxLength", "maximum", "exclusiveMaximum", "maxItems")
_LEAST: Final = ("minLength", "minimum", "exclusiveMinimum", "minItems")


def breaking_changes(old: Json, new: Json) -> list[str]:
    """Sentences that name the operation and what of it a client may not find again, or must now do."""
    return list(_Comparison(old, new).sentences())


@dataclass(frozen=True, slots=True)
class _Comparison:
    """Bodies and parameters may take more, and answers may tell more: the other way breaks a client.

    What a receiver gets of a webhook counts as an answer.
    """

    old: Json
    new: Json

    def sentences(self) -> Iterator[str]:
        after = dict(_operations(self.new, "paths"))
        for name, operation in _operations(self.old, "paths"):
            if name not in after:
                yield f"{name} is removed."
            else:
                yield from (f"{name}: {what}." for what in self._operation(operation, after[name]))
        received = dict(_operations(self.new, "webhooks"))
        for name, operation in _operations(self.old, "webhooks"):
            if name not in received:
                yield f"The webhook {name} is removed."
            else:
                bodies = (_body(operation), _body(received[name]))
                yield from (f"The webhook {name}: {what}." for what in self._answer(*bodies, "the body"))

    def _operation(self, old: Json, new: Json) -> Iterator[str]:
        if old["operationId"] != new["operationId"]:
            yield f"its name {old['operationId']} is now {new['operationId']}"
        if old.get("security") != new.get("security"):
            yield f"it needs {_needs(new)}, and needed {_needs(old)}"
        yield from self._parameters(old, new)
        if "requestBody" in new:
            if new["requestBody"].get("required") and not old.get("requestBody", {}).get("required"):
                yield "the body is now required"
            if "requestBody" in old:
                yield from self._request(_body(old), _body(new), "the body")
        elif "requestBody" in old:
            yield "it takes no body any more"
        yield from self._responses(old["responses"], new["responses"])

    def _parameters(self, old: Json, new: Json) -> Iterator[str]:
        before, after = ({(each["in"], each["name"]): each for each in one.get("parameters", [])} for one in (old, new))
        for key, parameter in before.items():
            named = f"the parameter {key[1]} of the {key[0]}"
            if key not in after:
                yield f"{named} is removed"
                continue
            if after[key]["required"] and not parameter["required"]:
                yield f"{named} is now required"
            yield from self._request(parameter["schema"], after[key]["schema"], named)
        for key, parameter in after.items():
            if key not in before and parameter["required"]:
                yield f"the parameter {key[1]} of the {key[0]} is new, and required"

    def _responses(self, old: Json, new: Json) -> Iterator[str]:
        for status, response in old.items():
            if not status.startswith("2"):
                continue  # a client is told to accept any problem
            if status not in new:
                yield f"the status {status} is removed"
                continue
            for header in sorted(response.get("headers", {}).keys() - new[status].get("headers", {}).keys()):
                yield f"the header {header} of the answer is removed"
            for media, content in response.get("content", {}).items():
                if media not in new[status].get("content", {}):
                    yield f"the answer is no longer {media}"
                else:
                    yield from self._answer(content["schema"], new[status]["content"][media]["schema"], "the answer")

    def _request(self, old: Json, new: Json, where: str, seen: frozenset[str] = frozenset()) -> Iterator[str]:
        """The values that ``old`` takes and ``new`` refuses."""
        if _is_seen(old, seen):
            return
        seen |= {str(old.get("$ref"))}
        before, after = dict(_kinds(old, self.old)), dict(_kinds(new, self.new))
        if lost := _beyond(before, after):
            yield f"{where} no longer takes {_listed(lost)}"
        for kind in sorted(before.keys() & after.keys()):
            yield from self._narrowed(before[kind], after[kind], where, seen)

    def _narrowed(self, old: Json, new: Json, where: str, seen: frozenset[str]) -> Iterator[str]:
        for word in _MOST:
            if word in new and (word not in old or new[word] < old[word]):
                yield f"{where} has {word} {new[word]}, and had {old.get(word, 'none')}"
        for word in _LEAST:
            if word in new and (word not in old or new[word] > old[word]):
                yield f"{where} has {word} {new[word]}, and had {old.get(word, 'none')}"
        if "pattern" in new and new["pattern"] != old.get("pattern"):
            yield f"{where} has the pattern {new['pattern']}, and had {old.get('pattern', 'none')}"
        if "enum" in new and (refused := set(old.get("enum", [ANYTHING])) - set(new["enum"])):
            yield f"{where} no longer takes {_listed(refused)}"
        before, after = old.get("properties", {}), new.get("properties", {})
        if new.get("additionalProperties") is False:
            yield from (f"{where} no longer takes the property {name}" for name in sorted(before.keys() - after.keys()))
        for name in sorted(set(new.get("required", ())) - set(old.get("required", ()))):
            yield f"the property {name} of {where} is now required"
        for name in sorted(before.keys() & after.keys()):
            yield from self._request(before[name], after[name], f"the property {name} of {where}", seen)
        if "items" in old and "items" in new:
            yield from self._request(old["items"], new["items"], f"an item of {where}", seen)

    def _answer(self, old: Json, new: Json, where: str, seen: frozenset[str] = frozenset()) -> Iterator[str]:
        """The values that ``new`` has and ``old`` does not know."""
        if _is_seen(old, seen):
            return
        seen |= {str(old.get("$ref"))}
        before, after = dict(_kinds(old, self.old)), dict(_kinds(new, self.new))
        if added := _beyond(after, before):
            yield f"{where} may now be {_listed(added)}"
        for kind in sorted(before.keys() & after.keys()):
            yield from self._lost(before[kind], after[kind], where, seen)

    def _lost(self, old: Json, new: Json, where: str, seen: frozenset[str]) -> Iterator[str]:
        if "const" in old and old["const"] != new.get("const"):
            yield f"{where} is no longer {old['const']}"
        if "enum" in old and (added := set(new.get("enum", [ANYTHING])) - set(old["enum"])):
            yield f"{where} may now be {_listed(added)}"
        before, after = old.get("properties", {}), new.get("properties", {})
        for name, schema in before.items():
            named = f"the property {name} of {where}"
            if name not in after:
                yield f"{named} is removed"
                continue
            if name in old.get("required", ()) and name not in new.get("required", ()):
                yield f"{named} may now be missing"
            yield from self._answer(schema, after[name], named, seen)
        for word in ("items", "additionalProperties"):
            if isinstance(old.get(word), Mapping) and isinstance(new.get(word), Mapping):
                yield from self._answer(old[word], new[word], f"an item of {where}", seen)


def _is_seen(schema: Json, seen: frozenset[str]) -> bool:
    return "$ref" in schema and schema["$ref"] in seen


def _operations(document: Json, part: str) -> Iterator[tuple[str, Json]]:
    for path, item in document.get(part, {}).items():
        for method, operation in item.items():
            yield (path if part == "webhooks" else f"{method.upper()} {path}"), operation


def _body(operation: Json) -> Json:
    schema: Json = operation["requestBody"]["content"]["application/json"]["schema"]
    return schema


def _kinds(schema: Json, document: Json) -> Iterator[tuple[str, Json]]:
    """Each type of value that a schema allows, a text with its format, and the part of the schema that says so."""
    if "$ref" in schema:
        yield from _kinds(document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]], document)
    elif "anyOf" in schema:
        for option in schema["anyOf"]:
            yield from _kinds(option, document)
    elif "type" in schema:
        types = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
        for kind in types:
            written = schema.get("format") if kind == "string" else None
            yield (kind if written is None else f"{kind} ({written})"), schema
    else:
        yield ANYTHING, schema


def _beyond(some: Mapping[str, Json], known: Mapping[str, Json]) -> set[str]:
    """The types among ``some`` with values that none of the known ones has."""
    if ANYTHING in known:
        return set()
    included = {kind for kind in some if kind.split(" ")[0] in known or (kind == "integer" and "number" in known)}
    return some.keys() - known.keys() - included


def _needs(operation: Json) -> str:
    schemes = [
        f"{name} {' '.join(roles)}".strip() for each in operation.get("security", []) for name, roles in each.items()
    ]
    return " or ".join(schemes) or "no session"


def _listed(words: set[Any]) -> str:
    return ", ".join(sorted(map(str, words)))
