"""Rules of tables: names, and patterns that stand for the tables that no rule names."""

import pytest

from svc_pg.capture.patterns import resolve
from svc_pg.config import AuditedTable
from svc_pg.database.table_names import TableName
from svc_pg.errors import ConfigError, UnknownTableError

FOUND = [TableName("shop", "order"), TableName("shop", "line"), TableName("public", "order")]


def resolved(*names: str, **options: str) -> dict[str, str]:
    rules = resolve([AuditedTable(name=name) for name in names], FOUND, **options)
    return {str(table): each.name for table, each in rules.items()}


def test_a_name_comes_before_a_pattern_that_covers_it() -> None:
    assert resolved("shop.*", "shop.line") == {"shop.order": "shop.*", "shop.line": "shop.line"}


def test_a_named_table_need_not_be_there() -> None:
    assert resolved("shop.later") == {"shop.later": "shop.later"}


def test_a_table_that_is_named_twice_is_refused_also_by_the_name_of_the_default_schema() -> None:
    with pytest.raises(ConfigError, match=r'"shop\.order" is named twice: as shop\.order and as public\.order'):
        resolved("shop.order", "public.order", default_schema="shop")


def test_two_patterns_that_cover_a_table_are_refused() -> None:
    with pytest.raises(ConfigError, match=r'two patterns cover "shop\.order": shop\.\* and \*\.order'):
        resolved("shop.*", "*.order")


def test_a_pattern_that_covers_nothing_is_refused() -> None:
    with pytest.raises(UnknownTableError, match=r'no table matches "elsewhere\.\*"'):
        resolved("elsewhere.*")
