"""The changes of a Django object, with the names of their users."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.db import connections, models, router
from django.utils.module_loading import import_string

from svc_pg.audit.log.change import Change
from svc_pg.audit.read.last_changes import last_changes
from svc_pg.database.table_names import DEFAULT_SCHEMA, TableName

Names = Callable[[Collection[str]], Mapping[str, str]]
"""Takes ids of actors, and returns the known names by id."""


def changes_of(record: models.Model, *, limit: int, table: str | None = None) -> list[Change]:
    """The last changes of an object; ``table`` names its table if the model does not."""
    if record.pk is None:
        return []
    using = record._state.db or router.db_for_read(type(record), instance=record)
    return changes(table or table_of(record, using=using), record.pk, limit=limit, using=using)


def changes(table: str, key: object, *, limit: int, using: str) -> list[Change]:
    """As ``audit.last_changes``, with the names of the actors."""
    found = last_changes(connections[using], table, key, limit=limit)
    names = names_of({change.actor_id for change in found if change.actor_id})
    return [replace(change, actor=names.get(change.actor_id or "", change.actor)) for change in found]


def table_of(record: models.Model | type[models.Model], *, using: str) -> str:
    """The table of a model, as the log names it: in the default schema, unless ``db_table`` has another."""
    connection = connections[using]
    quoted = connection.ops.quote_name(record._meta.db_table).replace("`", '"')
    schemas = {"sqlite": "main", "mysql": str(connection.settings_dict["NAME"])}
    return str(TableName.parse(quoted).within(schemas.get(connection.vendor, DEFAULT_SCHEMA)))


def names_of(actors: Collection[str]) -> Mapping[str, str]:
    """The names of actors, found by ``SVC_ACTOR_NAMES``; by default those of users with these primary keys."""
    find: Names | str | None = getattr(settings, "SVC_ACTOR_NAMES", names_of_users)
    if find is None or not actors:
        return {}
    return import_string(find)(actors) if isinstance(find, str) else find(actors)


def names_of_users(actors: Collection[str]) -> Mapping[str, str]:
    """For example ``mara (7)``: the id stays, because others than users may act."""
    try:
        users: Any = get_user_model()
    except ImproperlyConfigured:  # a project without django.contrib.auth
        return {}
    keys = [key for actor in actors if (key := _user_key(users, actor)) is not None]
    found: Sequence[Any] = users._default_manager.filter(pk__in=keys) if keys else ()
    return {str(user.pk): f"{user.get_username()} ({user.pk})" for user in found}


def _user_key(users: Any, actor: str) -> object:
    try:
        key = users._meta.pk.to_python(actor)
        users._meta.pk.run_validators(key)  # of numbers, the range of the column
    except ValidationError:
        return None
    return key if str(key) == actor else None
