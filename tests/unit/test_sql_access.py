"""Each file that makes a function or a view says in a header who may use it."""

import re
from pathlib import Path

import pytest

from svc_pg.database import sql_access
from svc_pg.database.sql_access import header_of

SQL = Path(__file__).parents[2] / "sql"
ELSEWHERE = ("migrations", "mysql", "sqlite")
MADE = re.compile(r"^\s*create (?:or replace )?(?:function|procedure|view|materialized view)\b", re.MULTILINE)
FUNCTION = "create or replace function svc.f() returns void\n"
VIEW = "create or replace view svc.v as\n"


def test_each_file_that_makes_a_function_or_a_view_says_who_may_use_it() -> None:
    files = {
        path.relative_to(SQL): path.read_text(encoding="utf-8")
        for suffix in ("sql", "j2")
        for path in SQL.rglob(f"*.{suffix}")
    }
    makers = {str(path) for path, text in files.items() if MADE.search(text) and path.parts[0] not in ELSEWHERE}
    assert len(makers) > 170
    assert {each.file for each in sql_access.headers()} == makers


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (FUNCTION, "audit/f.sql has no line such as -- access: reader, admin before its function"),
        ("-- access: admin\n\n" + FUNCTION, "audit/f.sql has no line"),
        ("-- access: everybody\n" + FUNCTION, "nobody is known as 'everybody' who may use a function"),
        ("-- access: admin to lock\n" + FUNCTION, "nobody is known as 'admin to lock' who may use a function"),
        ("-- access: reader,admin\n" + VIEW, "nobody is known as 'reader,admin' who may use a view"),
    ],
)
def test_a_header_that_is_missing_or_wrong_is_named_with_its_file(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        header_of("audit/f.sql", text)


def test_a_header_names_one_function_or_those_of_all_tables() -> None:
    one = header_of("audit/f.sql.j2", "-- access: reader, admin\n" + FUNCTION)
    many = header_of("capture/view.sql.j2", "-- The view.\n-- access to seen_*: admin to lock\n" + VIEW)
    assert one is not None
    assert many is not None
    assert (one.pattern, sorted(one.rights)) == ("f", [("EXECUTE", "admin"), ("EXECUTE", "reader")])
    assert (many.pattern, sorted(many.rights)) == ("seen_.*", [("UPDATE", "admin")])
    assert [each.fits("seen_public_t") for each in (one, many)] == [False, True]


def test_what_has_a_name_of_its_own_has_the_rights_of_no_family() -> None:
    families = [each for each in sql_access.headers() if each.is_family and ("EXECUTE", "trigger") not in each.rights]
    names = [(each.kind, each.pattern) for each in sql_access.headers() if not each.is_family]
    assert [name for kind, name in names for family in families if family.kind == kind and family.fits(name)] == []


def test_files_of_one_name_give_the_same_rights() -> None:
    by_name: dict[str, set[object]] = {}
    for each in sql_access.headers():
        by_name.setdefault(each.pattern, set()).add((each.kind, each.rights))
    assert [name for name, rights in by_name.items() if len(rights) > 1] == []
    assert len(by_name) < len(sql_access.headers()), "svc.send has several"
