"""The checks of a log try each filter that every database has."""

import ast
import inspect
from typing import Final, Self

from svc_pg.audit import AuditQuery
from svc_pg.testing import log_conformance

_ELSEWHERE: Final = {
    "after": "pages have each entry once",
    "before": "pages have each entry once",
    "limit": "pages have each entry once",
    "order": "pages have each entry once",
    "only": "fields that are not asked for are not read",
    "containing": "PostgreSQL alone searches",
    "with_fact": "PostgreSQL alone searches",
    "with_words": "PostgreSQL alone searches",
}


def test_each_filter_is_tried_on_every_database() -> None:
    functions = inspect.getmembers(AuditQuery, inspect.isfunction)
    methods = {
        name
        for name, function in functions
        if inspect.signature(function).return_annotation is Self and not name.startswith("_")
    }
    check = ast.parse(inspect.getsource(log_conformance.check_each_filter_selects_what_it_says))
    tried = {node.attr for node in ast.walk(check) if isinstance(node, ast.Attribute)}
    assert methods - tried - _ELSEWHERE.keys() == set()
    assert _ELSEWHERE.keys() <= methods
