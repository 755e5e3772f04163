"""The effects of a call: a generator yields each request to a database, and receives its answer or its error.

So one text serves sync and async callers, and each database performs the effects in its own way.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, LiteralString, TypeVar

Result = TypeVar("Result")

Effects = Generator[Any, Any, Result]
"""A generator of the effects of a call, which returns the call's result.

An effect is a request to the call's database, for example a ``Query``, or a time to wait, or the work of another thread
to wait for.
"""


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement, for any driver: its parameters are ``%s``, and it has no other %. The answer is its rows."""

    text: LiteralString
    params: tuple[object, ...] = ()


@dataclass(frozen=True, slots=True)
class Remembered:
    """A statement whose rows a connection remembers for a minute: of what changes with an install alone."""

    statement: Statement


def run(effects: Effects[Result], perform: Callable[[Any], Any]) -> Result:
    """The result of the effects, each answered by ``perform``. The generator receives its errors too, and may go on."""
    go_on: Callable[[Any], Any] = effects.send
    answer: Any = None
    with closing(effects):
        while True:
            try:
                effect = go_on(answer)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return] # the type that the generator returns
            try:
                go_on, answer = effects.send, _performed(effect, perform)
            except BaseException as error:  # noqa: BLE001 - the effects raise it, when they have ended what they began
                go_on, answer = effects.throw, error


def _performed(effect: Any, perform: Callable[[Any], Any]) -> Any:
    match effect:
        case timedelta():
            return time.sleep(effect.total_seconds())
        case Future():
            return effect.result()
    return perform(effect)


async def arun(effects: Effects[Result], perform: Callable[[Any], Awaitable[Any]]) -> Result:
    """As ``run``, with ``perform`` that is async."""
    go_on: Callable[[Any], Any] = effects.send
    answer: Any = None
    with closing(effects):
        while True:
            try:
                effect = go_on(answer)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return] # as above
            try:
                go_on, answer = effects.send, await _aperformed(effect, perform)
            except BaseException as error:  # noqa: BLE001 - as above
                go_on, answer = effects.throw, error


async def _aperformed(effect: Any, perform: Callable[[Any], Awaitable[Any]]) -> Any:
    match effect:
        case timedelta():
            return await asyncio.sleep(effect.total_seconds())
        case Future():
            return await asyncio.wrap_future(effect)
    return await perform(effect)
