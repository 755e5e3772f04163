"""The texts of migrations of Alembic and Django: a call that names the changes, or all the SQL."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from svc_pg.schema.configuration_change import ConfigurationChange
from svc_pg.schema.export.script import Script

_WIDTH: Final = 110
_DEPTH: Final = 3
"""Sections, their keys and the names below these have lines of their own."""
_CHANGED: Final = "version={}, before=BEFORE, after=AFTER"
_TITLE: Final = "svc-pg: audit trail and webhooks"
_ALEMBIC: Final = '''\
"""{title}

Revision ID: {revision}
Revises: {revises}

"""

from alembic import op
{imports}
revision = {revision!r}
down_revision = {down_revision!r}
branch_labels = None
depends_on = None

{made_for}{changes}


def upgrade():
    {up}


def downgrade():
    """Undo the upgrade; the data stays."""
    {down}
{rest}'''
_RUN: Final = """

def run(statements):
    for statement in statements:
        op.execute(statement.replace(":", r"\\:"))  # or SQLAlchemy would read :name as a parameter
"""
_DJANGO: Final = '''\
"""{title}"""

from django.db import migrations
{imports}
{made_for}{changes}


class Migration(migrations.Migration):
    dependencies = {dependencies}

    operations = [{operation}]
'''


def alembic_text(script: Script, *, revision: str, down_revision: str | None) -> str:
    """A revision of Alembic."""
    change = script.change
    if change is None:
        calls = {"imports": "", "up": "run(UPGRADE)", "down": "run(DOWNGRADE)", "rest": _RUN}
    else:
        calls = {
            "imports": "from svc_pg import schema\n",
            "up": f"schema.up(op, {_keywords(change)})",
            "down": f"schema.down(op, {_CHANGED.format(change.version)})",
            "rest": "",
        }
    return _ALEMBIC.format(
        title=_TITLE,
        revision=revision,
        revises=down_revision or "",
        down_revision=down_revision,
        made_for=_made_for(script),
        changes=changes_of(script),
        **calls,
    )


def django_text(script: Script, *, dependencies: Sequence[tuple[str, str]]) -> str:
    """A migration of Django."""
    change = script.change
    return _DJANGO.format(
        title=_TITLE,
        imports="" if change is None else "from svc_pg.integrations.django.operations import InstallSvcPg\n",
        made_for=_made_for(script),
        changes=changes_of(script),
        dependencies=dependencies,
        operation="migrations.RunSQL(sql=UPGRADE, reverse_sql=DOWNGRADE)"
        if change is None
        else f"InstallSvcPg({_keywords(change)})",
    )


def _keywords(change: ConfigurationChange) -> str:
    options = _CHANGED.format(change.version)
    options += ", prune=True" if change.prune else ""
    return options if change.roles is None else f"{options}, roles={change.roles}"


def changes_of(script: Script) -> str:
    """The constants that say what a migration changes: by them two are compared."""
    if script.change is not None:
        return "\n".join(_difference(script.change))
    return (
        f"UPGRADE = {_listed(script.split(script.upgrade))}\n\n"
        f"# Undoes it; the data stays.\nDOWNGRADE = {_listed(script.split(script.downgrade))}"
    )


def has_changes(text: bytes) -> bool:
    """True if a file is a migration of ours that names its changes."""
    return b"BEFORE = " in text and b"AFTER = " in text and (b"schema.up(" in text or b"InstallSvcPg(" in text)


def has_all_sql(text: bytes) -> bool:
    """True if a file is a migration of ours that has all its SQL."""
    return b"MADE_FOR = " in text and b"UPGRADE = " in text


def _difference(change: ConfigurationChange) -> Iterator[str]:
    """The parts of the configuration, as they were and as they are."""
    if change.is_first:
        yield "# Nothing is installed before it; then what svc-pg.toml says."
    elif not (change.before or change.after):
        yield "# The configuration is the same: what it installs comes up to date, schema svc too."
    else:
        yield "# The parts of svc-pg.toml that it changes, as they were and as they are; all others stay."
    yield f"BEFORE = {_literal_of(change.before)}"
    yield f"AFTER = {_literal_of(change.after)}"


def _literal_of(document: Mapping[str, Any] | None) -> str:
    """A Python literal that has a line for each table and event, and more lines if one is long."""
    return _written(document, "", depth=0)


def _written(value: Any, indent: str, *, depth: int) -> str:
    text, inner = repr(value), indent + "    "
    is_short = len(inner) + len(text) <= _WIDTH
    if isinstance(value, Mapping) and value and (depth < _DEPTH or not is_short):
        lines = [f"{inner}{key!r}: {_written(each, inner, depth=depth + 1)},\n" for key, each in value.items()]
        return "{\n" + "".join(lines) + indent + "}"
    if isinstance(value, list) and value and not is_short:
        lines = [f"{inner}{_written(each, inner, depth=depth + 1)},\n" for each in value]
        return "[\n" + "".join(lines) + indent + "]"
    return text


def _made_for(script: Script) -> str:
    return "" if script.made_for is None else f"MADE_FOR = {script.made_for!r}  # a state of the database\n\n"


def _listed(statements: list[str]) -> str:
    return "[\n" + "".join(f"    {_literal(statement.strip())},\n" for statement in statements) + "]"


def _literal(text: str) -> str:
    """A readable Python literal, if the text allows one."""
    is_raw = '"""' not in text and not text.endswith(('"', "\\")) and all(c.isprintable() or c == "\n" for c in text)
    return f'r"""{text}"""' if is_raw else repr(text)
