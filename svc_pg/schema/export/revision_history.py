"""Compare a new revision with those of the project: it must go on from what they install, not from another branch."""

from collections.abc import Iterable
from pathlib import Path

from svc_pg.config.installed_parts import names_of, parts_in
from svc_pg.errors import ConfigError
from svc_pg.schema.configuration_change import ConfigurationChange
from svc_pg.schema.export.migration_texts import has_all_sql, has_changes
from svc_pg.schema.revision_file import read_change


def refuse_unknown(change: ConfigurationChange | None, files: Iterable[Path]) -> None:
    """Raise ConfigError if a later change goes on from something that no revision in ``files`` installs.

    In a new database it would fail; after a merge it could take back what another branch has changed.
    """
    if change is None or change.is_first:
        return
    texts = {file: file.read_bytes() for file in files if file.is_file()}  # an editor's lock is a link to nothing
    if any(map(has_all_sql, texts.values())):
        return  # nobody knows what that one installs
    known = [parts_in(read_change(file).after) for file, text in texts.items() if has_changes(text)]
    if not known:
        raise ConfigError(
            "svc-pg is installed in this database, and no revision here installs it: in a new one this would fail",
            hint="Write the first one with --database-url of a database that has your tables and nothing of svc-pg, and"
            " mark it as run in this one (alembic stamp, manage.py migrate --fake).",
        )
    others = [
        path for path, value in change.difference.before.items() if all(parts.get(path) != value for parts in known)
    ]
    if others:
        raise ConfigError(
            f"this database has {names_of(others)} as no revision here installs it",
            hint="It has run another branch, or svc-pg install. Write the revision for a database that has run the"
            " revisions of this branch alone: --database-url.",
        )
