"""Write payloads as JSON texts, and check them against the JSON Schema of their event."""

import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from svc_pg.errors import PayloadError
from svc_pg.formats.json_errors import NotJsonError
from svc_pg.formats.json_writer import write

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

Payload = object
"""Anything that ``svc_pg.formats.json_writer`` writes, or, as ``str``, a JSON text that is stored byte for byte."""

_MOST_SHOWN: Final = 200


def json_text(payload: Payload) -> str:
    """The payload as a JSON text. Raises PayloadError."""
    try:
        text = payload if isinstance(payload, str) else write(payload)
        text.encode()  # PostgreSQL knows no lone surrogates
    except NotJsonError as error:
        raise PayloadError(f"the payload is not JSON: {error.message}", hint=error.hint) from error
    except UnicodeEncodeError as error:
        raise PayloadError(
            "the payload is not JSON: it has a lone surrogate", hint="Send texts that have an encoding in UTF-8."
        ) from error
    return text


class SchemaCheck:
    """Checks payloads of one event against its JSON Schema. ``sha256`` is the digest of that schema's text."""

    def __init__(self, event: str, schema: str) -> None:
        self.sha256 = hashlib.sha256(schema.encode()).hexdigest()
        self._event = event
        self._validator = _validator(schema)

    def problem(self, texts: Sequence[str]) -> PayloadError | None:
        """The error of the first JSON text that does not fit; None if all do."""
        from jsonschema.exceptions import best_match
        from referencing.exceptions import Unresolvable

        for index, text in enumerate(texts):
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
                which = f"payload {index}" if len(texts) > 1 else "the payload"
                path, reason = mismatch.json_path, mismatch.message[:_MOST_SHOWN]
                return PayloadError(
                    f'{which} does not fit the schema of event "{self._event}" at {path}: {reason}',
                    hint="Change the payload, or the schema in the configuration, and run: svc-pg install",
                )
        return None


def _validator(schema: str) -> "Validator":
    from jsonschema.validators import validator_for
    from referencing import Registry

    document = json.loads(schema)
    kind = validator_for(document)
    return kind(document, registry=Registry(), format_checker=kind.FORMAT_CHECKER)  # never fetches a $ref
