"""Sync and async calls are one text: ``afoo`` is ``foo`` with ``await``, and calls the twins of what that calls."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import svc_pg

_ROOT: Final = Path(svc_pg.__file__).parent
_DIFFER: Final = {
    "audit/actors": "drivers have transactions and cursors of their own",
    "audit/past/revert.py:revert": "the console bounds its answers",
    "audit/read/last_changes.py:last_changes": "any DB-API connection will do, and the driver's async one",
    "console/sign_in": "the command line gives names, the console ids",
    "database": "here the two sides are made",
    "other_databases/actors": "drivers have cursors of their own",
    "other_databases/log/other_log.py:reconcile": "possible on a sync connection alone",
    "other_databases/log/statements.py:run": "drivers have cursors of their own",
    "testing/sent_webhooks.py:sent": "takes an address too",
    "webhooks/events/sending.py": "runs on any driver without the modules that perform effects",
}
_ASYNC: Final = re.compile(r"\b(?:await|async) ")
# the name of the twin in an error, and the bound that the console gives its answers
_OF_ONE_SIDE: Final = re.compile(r",? ?(?:\*, )?(?:twin='[^']*'|max_bytes=(?:None|max_bytes))")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def pairs() -> Iterator[tuple[str, Function, Function]]:
    """The place of each sync function that has an async twin, and both."""
    for file in sorted(_ROOT.rglob("*.py")):
        for parent in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(parent, ast.Module | ast.ClassDef):
                twins = {each.name: each for each in parent.body if isinstance(each, ast.AsyncFunctionDef)}
                for each in parent.body:
                    if isinstance(each, ast.FunctionDef) and f"a{each.name}" in twins:
                        yield f"{file.relative_to(_ROOT)}:{each.name}", each, twins[f"a{each.name}"]


def text(function: Function) -> str:
    """The names and defaults of its parameters, and its body without the docstring."""
    arguments = function.args
    for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        each.annotation = None
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return _OF_ONE_SIDE.sub("", _ASYNC.sub("", "\n".join(map(ast.unparse, (arguments, *body)))))


def without_brackets(code: str) -> str:
    """As ``await`` may have brackets around it that its twin lacks."""
    return code.replace("(", "").replace(")", "")


def test_an_async_call_is_its_sync_twin_with_await() -> None:
    found = list(pairs())
    names = "|".join({sync.name for _, sync, _ in found} | {"psycopg_connection", "sync_connection"})
    twin_names = re.compile(rf"\ba({names})\b|\basync_connection\b")
    different = {
        place: (sync_text, async_text)
        for place, sync, twin in found
        if (sync_text := without_brackets(text(sync)))
        != (async_text := without_brackets(twin_names.sub(lambda name: name[1] or "sync_connection", text(twin))))
    }
    unexpected = {place: texts for place, texts in different.items() if not place.startswith(tuple(_DIFFER))}
    assert unexpected == {}
    assert len(found) - len(different) >= 45
    assert {reason for reason in _DIFFER if not any(place.startswith(reason) for place in different)} == set()
