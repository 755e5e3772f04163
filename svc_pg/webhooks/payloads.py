"""Payloads as JSON texts, and whether they fit the JSON Schema of their event."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from svc_pg.errors import PayloadError

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

Payload = Mapping[str, Any] | Sequence[Any] | str | float | None
"""Anything that JSON can hold, or, as ``str``, a JSON text that is stored byte for byte."""

_MOST_SHOWN: Final = 200


def json_text(payload: Payload) -> str:
    """The payload as a JSON text. Raises PayloadError."""
    try:
        text = payload if isinstance(payload, str) else _write(payload)
        text.encode()  # PostgreSQL knows no lone surrogates
    except (TypeError, ValueError, RecursionError) as error:
        raise PayloadError(
            f"the payload is not JSON: {error}", hint="Send texts, numbers, booleans, null, lists and maps of them."
        ) from error
    return text


class SchemaCheck:
    """Whether payloads of one event fit its JSON Schema, and the SHA-256 of that schema's text."""

    def __init__(self, event: str, schema: str) -> None:
        self.sha256 = hashlib.sha256(schema.encode()).hexdigest()
        self._event = event
        self._validator = _validator(schema)

    def problem(self, texts: Sequence[str]) -> PayloadError | None:
        """Why one of these JSON texts does not fit; None where all do."""
        from jsonschema.exceptions import best_match
        from referencing.exceptions import Unresolvable

        for place, text in enumerate(texts):
            try:
                value = json.loads(text)
            except (ValueError, RecursionError) as error:
                return PayloadError(f"the payload is not JSON: {error}")
            try:
                mismatch = best_match(self._validator.iter_errors(value))
            except Unresolvable as error:
                return PayloadError(
                    f'the schema of event "{self._event}" refers to {error.ref}, which is not in it',
                    hint="Put it under $defs. Nothing is fetched from elsewhere.",
                )
            if mismatch:
                which = f"payload {place}" if len(texts) > 1 else "the payload"
                where, reason = mismatch.json_path, mismatch.message[:_MOST_SHOWN]
                return PayloadError(
                    f'{which} does not fit the schema of event "{self._event}" at {where}: {reason}',
                    hint="Change the payload, or the schema in the configuration, and run: svc-pg install",
                )
        return None


def _plain(value: object) -> object:
    """What ``json`` knows, of mappings and sequences that it does not."""
    match value:
        case Mapping():
            return dict(value)
        case Sequence() if not isinstance(value, bytes | bytearray | memoryview):
            return list(value)
    raise TypeError(f"it contains {type(value).__name__}")


_write: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_plain).encode


def _validator(schema: str) -> "Validator":
    from jsonschema.validators import validator_for
    from referencing import Registry

    document = json.loads(schema)
    kind = validator_for(document)
    return kind(document, registry=Registry(), format_checker=kind.FORMAT_CHECKER)  # never fetches a $ref
