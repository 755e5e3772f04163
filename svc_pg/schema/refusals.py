"""Refuse an install that would remove captures, that needs a backup, or that a newer svc-pg has made."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, assert_never

from svc_pg import __version__
from svc_pg.config import Config
from svc_pg.config.installed_parts import Parts, products_of
from svc_pg.config.products import NAMES
from svc_pg.database.sql_products import ProductId, is_table_of_webhooks
from svc_pg.errors import ConfigError, DatabaseNewerError, InstallError, RemovalRefusedError, SvcError
from svc_pg.rendering.schema_objects import sends_changes
from svc_pg.schema.status import Status

_OTHERS: Final[Mapping[ProductId, ProductId]] = {"audit": "webhooks", "webhooks": "audit"}
_OF_EVERY_LOG: Final = frozenset({"retention_days", "partitions", "indexes"})


def refuse_roles(*, roles: bool | None) -> None:
    """Raise ConfigError if roles are wanted on a database without our roles."""
    if roles:
        raise ConfigError("roles are for PostgreSQL", hint="Leave them out.")


def refuse_statements(database: str) -> ConfigError:
    """The error of a revision that was written for PostgreSQL."""
    return ConfigError(
        f"this revision was written for PostgreSQL, and runs on {database}",
        hint="There triggers name the columns of their tables, so a revision carries its SQL. Write it anew for this"
        " database: svc-pg migrate",
    )


def refuse_left_out(config: Config, products: Collection[ProductId]) -> None:
    """Raise ConfigError if a configuration has something of a product that these products leave out."""
    for product, others in _OTHERS.items():
        named = [] if product in products else [*_keys_of(config, product)]
        if named and config.products is not None:
            raise ConfigError(
                f"the configuration has {', '.join(named)}, and only {NAMES[others]} {_verb(others)} wanted",
                hint='Take that out of the configuration; or want both: products = ["audit", "webhooks"], without'
                " --only.",
            )
        if named:
            raise ConfigError(
                f"the configuration has {', '.join(named)}, and this database has only {NAMES[others]}",
                hint=f"Take that out, or add {NAMES[product]} to the database: svc-pg install --all, or in the"
                ' configuration products = ["audit", "webhooks"].',
            )


def _keys_of(config: Config, product: ProductId) -> Iterator[str]:
    """The keys of the configuration that only this product needs. Retention and indexes are of every log."""
    match product:
        case "audit":
            written = config.audit.model_dump(exclude_defaults=True)
            yield from (f"audit.{key}" for key in written if key not in _OF_EVERY_LOG)
        case "webhooks":
            yield from (f"webhooks.{key}" for key in config.webhooks.model_dump(by_alias=True, exclude_defaults=True))
            yield from ["grants.send"] if config.grants.send else []
        case _:
            assert_never(product)


def _verb(product: ProductId) -> str:
    return "are" if product == "webhooks" else "is"


def refuse_overtaken(products: Sequence[ProductId], installed: Parts | None) -> None:
    """Raise InstallError if ``installed``, the configuration of a later install, has other products than these."""
    others = products_of(Config(), installed)
    if installed is not None and others != products:
        raise InstallError(
            f"another install has chosen other products meanwhile: {', '.join(others)}", hint="Install again."
        )


def refuse_lost(steps: list[Status]) -> None:
    """Raise InstallError if a table or column of ours is gone, which only a backup can restore."""
    lost = [step for step in steps if step.state == "missing" and not step.sql]
    if lost:
        anew = (
            "to make all tables of webhooks anew, drop the others, run svc-pg install --only audit --prune, and then"
            " this again"
            if all(is_table_of_webhooks(step.identity.removeprefix("svc.")) for step in lost)
            else "uninstall with --drop-data and begin anew"
        )
        raise InstallError(
            f"gone from schema svc: {', '.join(f'{step.kind} {step.identity}' for step in lost)}",
            hint=f"Restore it from a backup; or {anew}.",
        )


def refuse_removals(steps: list[Status]) -> None:
    """Raise RemovalRefusedError if a step removes capture or an event, except captures of a dropped table."""
    removals = [step for step in steps if step.needs_prune and not (step.is_of_dropped_table or step.is_later)]
    if removals:
        names = sorted({_taken_away(step) for step in removals})
        raise RemovalRefusedError(
            f"the configuration does not name what is installed: {', '.join(names)}",
            hint="Nothing has been changed. Is this the right configuration? To remove them, add --prune."
            + "".join(f" The tables of {name} stay, with their data." for name in NAMES.values() if name in names)
            + (
                " A renamed table goes on if it is named as it is now."
                if any(step.moved_to for step in removals)
                else ""
            ),
        )


def refuse_newer(version: str | None) -> None:
    """Raise DatabaseNewerError if a newer svc-pg has installed: ``version``, None if none has."""
    if version is not None and _order(version) > _order(__version__):
        raise DatabaseNewerError(
            f"the database was installed by svc-pg {version}, and this is {__version__}",
            hint=f"Upgrade this one to {version} or later.",
        )


def unfinished(tables: Iterable[str], failures: Mapping[str, SvcError]) -> InstallError:
    """The error of an install that could not finish these tables."""
    reasons = [
        f"{table}: {error.message}" + (f" ({error.hint})" if error.hint else "") for table, error in failures.items()
    ]
    return InstallError(
        f"not installed: {', '.join(tables)} (the rest is)\n" + "\n".join(reasons),
        hint="Install again when the cause is gone; it goes on with what is left.",
    )


def _order(version: str) -> list[int]:
    return [int(part) for part in version.split(".") if part.isdigit()]


def _taken_away(step: Status) -> str:
    if step.is_left_out and step.product is not None:
        return NAMES[step.product]
    if step.audited_table is None:
        return f"{step.kind} {step.identity}"
    table = f"{step.audited_table} (now {step.moved_to})" if step.moved_to else step.audited_table
    return f"{'events' if sends_changes(step.identity) else 'capture'} of {table}"
