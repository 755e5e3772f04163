"""The rows and columns that a reconciliation does not compare, in words for people."""

from collections.abc import Collection, Iterator, Sequence
from typing import assert_never, get_args

from svc_pg.capture.postgres.comparing import tells_all
from svc_pg.capture.rules import TableRules
from svc_pg.config.audited_table import Redaction
from svc_pg.errors import ConflictError
from svc_pg.formats.plurals import counted


def is_comparable(rules: TableRules) -> bool:
    """True if rows of the table can be compared: it has a key, and no rules that would run SQL of the configuration."""
    wanted = rules.audited.record_when
    return bool(rules.key) and not (wanted is not None and wanted.has_sql)


def notes(
    rules: TableRules, *, was_conditional: bool, once_ignored: Sequence[str], large: str = "by their digests"
) -> Iterator[str]:
    """The notes of a table; ``was_conditional`` and ``once_ignored`` are rules that it had at some time.

    ``large`` says how the database compares large values.
    """
    if not rules.key:
        yield "not compared: it has no key by which a row has entries"
        return
    if not is_comparable(rules):
        yield "not compared: record_when has SQL, which would run with your rights"
        return
    if not tells_all(rules):
        yield "record_when leaves changes out: only rows count that it would record and the log does not know"
    elif was_conditional:
        yield "record_when left changes out once: differences may be from then"
    if rules.ignored:
        yield f"ignored: {', '.join(rules.ignored)}"
    if once := [column for column in once_ignored if column not in rules.ignored]:
        yield f"ignored once, so differences may be from then: {', '.join(once)}"
    if rules.columns is not None and (out := sorted({*rules.table.columns} - rules.columns)):
        yield f"not recorded: {', '.join(out)}"
    for kind in get_args(Redaction):
        if columns := sorted(column for column, each in rules.redactions.items() if each == kind):
            yield f"{_comparison(kind)}: {', '.join(columns)}"
    if rules.audited.max_value_bytes is not None:
        yield f"values of more than {rules.audited.max_value_bytes} bytes: compared {large}"


def notes_of_rows(unkeyed: int, otherwise: Collection[str], *, why: str = "the key is null") -> Iterator[str]:
    """The notes of rows without a key, and of columns that some entries have redacted otherwise."""
    if unkeyed:
        yield f"{counted(unkeyed, 'row')} not compared: {why}, so nothing tells which entries are theirs"
    if otherwise:
        yield f"redacted otherwise in some entries, so not compared with those: {', '.join(sorted(otherwise))}"


def no_hash_key(table: str, hint: str) -> ConflictError:
    """The problem of a table with hashed columns if the key of hashes is not in its own table."""
    return ConflictError(f"the key of hashes is missing from {table}, so no value tells its hash", hint=hint)


def _comparison(kind: Redaction) -> str:
    match kind:
        case "remove":
            return "not recorded"
        case "mask":
            return "masked, so not compared"
        case "hash":
            return "compared by their hashes"
        case "last4":
            return "compared by their last four characters"
        case _:
            assert_never(kind)
