"""The signals that end a command with the same cleanup as Ctrl-C."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import typer


def heeded() -> list[signal.Signals]:
    """The termination signals, except those that the caller has made the program ignore, as nohup does."""
    asking = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    return [each for each in asking if signal.getsignal(each) != signal.SIG_IGN]


@contextmanager
def ending_tidily() -> Iterator[None]:
    """Turn termination signals into KeyboardInterrupt, then exit with 128 plus their number. A second one kills."""
    received = 0
    asking = heeded()

    def end(number: int, _frame: object) -> None:
        nonlocal received
        received = number
        for each in asking:
            signal.signal(each, signal.SIG_DFL)
        raise KeyboardInterrupt

    before = {each: signal.signal(each, end) for each in asking}
    try:
        yield
    except KeyboardInterrupt:
        raise typer.Exit(128 + received) from None
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
