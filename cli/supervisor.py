"""Supervise several worker processes of one command: restart dead ones, watch and stop all together."""

import asyncio
import json
import logging
import socket
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Final

from svc_pg.webhooks.worker.observed import Observed
from svc_pg.webhooks.worker.statistics import Statistics

_log = logging.getLogger(__name__)

_REPORT_EVERY: Final = 1.0  # seconds
_SILENT: Final = 30.0  # seconds without a report after which a process counts as hanging
_GRACE: Final = 5.0  # seconds for a process that hangs when it is told to end
_LONGEST_END: Final = 85.0  # seconds: the longest timeout of an endpoint, the last acknowledgements, and some more
_STARTING: Final = "a process is being started"
_WAITS: Final = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
_SETTLED: Final = 60.0  # seconds after which a process counts as stable, and its next death as the first


@dataclass
class _Slot:
    """A slot for one process at a time, with the statistics of its predecessors."""

    command: Sequence[str]
    past: Statistics = field(default_factory=Statistics)
    present: Statistics = field(default_factory=Statistics)
    problem: str | None = _STARTING
    process: asyncio.subprocess.Process | None = None
    heard_at: float = 0.0


class Supervisor:
    """Runs each command as a process until ``stop`` is called.

    A process gets one end of a socket, its lifeline, as the option ``--lifeline``: it reports on it every second, and
    stops by itself if the other end closes, because the supervisor was killed.
    """

    def __init__(self, commands: Sequence[Sequence[str]]) -> None:
        self._slots = [_Slot(command) for command in commands]
        self._stopping = asyncio.Event()

    @property
    def statistics(self) -> Statistics:
        """The sum of all processes, dead ones included."""
        return sum((slot.past + slot.present for slot in self._slots), Statistics())

    @property
    def is_delivering(self) -> bool:
        """True: one process is enough for maintenance."""
        return True

    @property
    def is_alive(self) -> bool:
        """True if no process hangs. A dead one is being restarted."""
        now = asyncio.get_running_loop().time()
        return all(slot.process is None or now - slot.heard_at < _SILENT for slot in self._slots)

    @property
    def problem(self) -> str | None:
        """The reason that one of them cannot deliver now; None if all can."""
        return next((slot.problem for slot in self._slots if slot.problem is not None), None)

    def stop(self) -> None:
        """Let all processes finish their current work and end; those that hang, or take more than 85 s, are killed."""
        self._stopping.set()
        for slot in self._slots:
            if slot.process is not None:
                with suppress(ProcessLookupError):
                    slot.process.terminate()

    async def run(self) -> None:
        """Return when all processes have ended, after ``stop``."""
        async with asyncio.TaskGroup() as group:
            for slot in self._slots:
                group.create_task(self._keep(slot))

    async def _keep(self, slot: _Slot) -> None:
        clock = asyncio.get_running_loop().time
        deaths = 0
        while not self._stopping.is_set():
            started = clock()
            try:
                end = f"ended with {await self._run_once(slot)}"
            except OSError as error:  # for example too many processes; the others go on
                end = f"did not start: {error.strerror}"
            if self._stopping.is_set():
                return
            deaths = 1 if clock() - started > _SETTLED else deaths + 1
            wait = _WAITS[min(deaths, len(_WAITS)) - 1]
            _log.error("a worker process %s; another is started in %g s", end, wait)
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._stopping.wait()

    async def _run_once(self, slot: _Slot) -> int:
        ours, its = socket.socketpair()
        try:
            slot.process = await asyncio.create_subprocess_exec(
                *slot.command, "--lifeline", str(its.fileno()), pass_fds=[its.fileno()]
            )
        except OSError:
            ours.close()
            raise
        finally:
            its.close()
        reader, writer = await asyncio.open_connection(sock=ours)
        slot.heard_at = asyncio.get_running_loop().time()
        if self._stopping.is_set():
            slot.process.terminate()
        ending = asyncio.create_task(self._end(slot, slot.process))
        try:
            with suppress(ConnectionError):
                while (line := await reader.readline()).endswith(b"\n"):  # else it was killed while it wrote
                    _note(slot, line)
            return await slot.process.wait()
        finally:
            ending.cancel()
            writer.close()
            slot.process = None
            slot.problem = _STARTING
            slot.past += replace(slot.present, in_flight=0)
            slot.present = Statistics()

    async def _end(self, slot: _Slot, process: asyncio.subprocess.Process) -> None:
        """Once ``stop`` is called, kill the process if it neither ends nor reports progress towards its end."""
        await self._stopping.wait()
        clock = asyncio.get_running_loop().time
        told_at = now = clock()
        while now < (until := min(max(slot.heard_at + _SILENT, told_at + _GRACE), told_at + _LONGEST_END)):
            await asyncio.sleep(until - now)
            now = clock()
        _log.error("worker process %s does not end and is killed; what it was sending is sent again", process.pid)
        with suppress(ProcessLookupError):
            process.kill()


def _note(slot: _Slot, line: bytes) -> None:
    report = json.loads(line)
    slot.present = Statistics.from_json(report["statistics"])
    slot.problem = report["problem"]
    slot.heard_at = asyncio.get_running_loop().time()


def same_command() -> list[str]:
    """The command line of this process, to run it again."""
    return [sys.executable, *sys.orig_argv[1:]]


@asynccontextmanager
async def reporting(lifeline: int, watched: Observed, *, gone: Callable[[], object]) -> AsyncIterator[None]:
    """Report to the supervisor until the end of the block; call ``gone`` when the supervisor is gone."""
    reader, writer = await asyncio.open_connection(sock=socket.socket(fileno=lifeline))

    def write() -> None:
        if not writer.transport.get_write_buffer_size():  # else the supervisor hangs
            facts = {"statistics": watched.statistics.to_json(), "problem": watched.problem}
            writer.write(json.dumps(facts).encode() + b"\n")

    async def write_regularly() -> None:
        try:
            while not reader.at_eof():
                write()
                with suppress(TimeoutError):
                    async with asyncio.timeout(_REPORT_EVERY):
                        await reader.read()
        finally:
            gone()

    task = asyncio.create_task(write_regularly())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError, ConnectionError):
            await task
        write()
        writer.close()
