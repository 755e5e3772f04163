"""Print data on standard output, words on standard error."""

import sys

from svc_pg.errors import ConsoleAutoApproveInProductionError, ConsoleWeakSecretError, SvcError

from .files.output_file import STANDARD_OUTPUT, discard, explained
from .json_text import printable_lines

debug = False
"""True if errors keep their traceback; set by --debug."""

is_read = True
"""False once the reader of standard output is known to have left."""

# The specification names these errors, so people look for their names
_NAMED = (ConsoleAutoApproveInProductionError, ConsoleWeakSecretError)


def data(text: str) -> None:
    """Print one line of data. Raises SvcError if it cannot be written, for example if the disk is full.

    If the reader has left, as head does, the command goes on without it, and exits with the code of its result.
    """
    try:
        with explained(STANDARD_OUTPUT):
            sys.stdout.write(text + "\n")
    except BrokenPipeError:
        _go_on_unread()
    except UnicodeEncodeError as error:
        if error.encoding == "utf-8":
            raise
        raise SvcError(
            f"standard output takes only characters of {error.encoding}, and the data has others",
            hint="Choose a locale of UTF-8, or set PYTHONIOENCODING=utf-8.",
        ) from error


def spaced(*parts: str) -> str:
    """Parts of one line, with two blanks between them; empty ones are left out."""
    return "  ".join(filter(None, parts))


def end() -> None:
    """Flush the data. Raises SvcError as ``data``; a reader that has left is no error."""
    try:
        with explained(STANDARD_OUTPUT):
            sys.stdout.flush()
    except BrokenPipeError:
        _go_on_unread()
    except SvcError:
        discard()
        raise


def _go_on_unread() -> None:
    global is_read
    is_read = False
    discard()


def sql(text: str) -> None:
    """Print SQL: unchanged to a file or a pipe, with control characters escaped to a terminal."""
    shown = printable_lines(text) if sys.stdout.isatty() else text
    data(shown)
    if shown != text:
        words("Characters that a terminal could obey are shown as escapes. To run this SQL, write it to a file.")


def words(text: str) -> None:
    """Print a message for people. Nothing in the text can control a terminal."""
    sys.stderr.write(f"{printable_lines(text)}\n")


def more(cursor: str | None, *, has_limit: bool = True) -> None:
    """Print a note for people if the list goes on. It names ``--limit``, unless the list has none."""
    if cursor is not None:
        words(f"There are more: {'--limit N, or ' if has_limit else ''}--after {cursor}")


def fail(error: Exception) -> None:
    """Print an error for people, with a hint if there is one."""
    name = f"{type(error).__name__}: " if isinstance(error, _NAMED) else ""
    # PostgreSQL's errors go on with a line of our SQL
    message = getattr(getattr(error, "diag", None), "message_primary", None) or str(error).strip()
    words(f"error: {name}{message or type(error).__name__}")
    if isinstance(error, SvcError) and error.hint:
        words(f"hint: {error.hint}")
