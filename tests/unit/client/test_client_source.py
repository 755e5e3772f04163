"""The client is made of the committed document, and has a method for each operation."""

import inspect
import os
from typing import Any, Final

import pytest

from svc_pg.client import AsyncClient, Client
from svc_pg.client.generated import operations
from svc_pg.client.operations import Operation
from tests.support.client_operations import described
from tests.support.client_source import FOLDER, committed_document, modules

UPDATE: Final = "SVC_TEST_UPDATE_SNAPSHOTS"
DOCUMENT: Final[Any] = committed_document()
MADE: Final = modules(DOCUMENT)


@pytest.mark.parametrize("file", MADE, ids=lambda file: file.stem)
def test_each_module_is_the_one_that_the_document_makes(file: Any) -> None:
    if os.environ.get(UPDATE):
        file.write_text(MADE[file], encoding="utf-8")
    assert file.read_text(encoding="utf-8") == MADE[file], f"renew it with {UPDATE}=1"


def test_nothing_else_is_in_the_folder() -> None:
    assert set(FOLDER.glob("*.py")) == set(MADE)


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_each_operation_is_a_method_by_its_name(kind: type[Any]) -> None:
    client = kind("https://shop.example")
    for each in described(DOCUMENT):
        method = getattr(getattr(client, each.resource), each.action)
        assert inspect.getdoc(method), each.id


def test_each_operation_of_the_document_but_head_is_one_of_the_client() -> None:
    known = {(each.method.lower(), each.path) for each in vars(operations).values() if isinstance(each, Operation)}
    listed = {(method, path) for path, methods in DOCUMENT["paths"].items() for method in methods if method != "head"}
    assert known == listed
