"""The runner of Django's own suite that records the outcomes of its tests, and captures its tables as they are made."""

import unittest
from typing import Any

from django.db import connections, transaction
from django.db.backends.base.schema import BaseDatabaseSchemaEditor as Editor
from django.test.runner import DiscoverRunner
from foreign_suite import capture_new_tables, count_capture, is_captured, record


class Result(unittest.TextTestResult):
    """A result that also records each outcome."""

    def addSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802 - unittest's name, and those below
        super().addSuccess(test)
        record(test.id(), "passed")

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        super().addFailure(test, err)
        record(test.id(), "failed")

    def addError(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        super().addError(test, err)
        record(test.id(), "failed")

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:  # noqa: N802
        super().addSubTest(test, subtest, err)
        if err is not None:
            record(test.id(), "failed")

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:  # noqa: N802
        super().addSkip(test, reason)
        record(test.id(), "skipped")

    def addExpectedFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        super().addExpectedFailure(test, err)
        record(test.id(), "expected failure")

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802
        super().addUnexpectedSuccess(test)
        record(test.id(), "unexpected success")


class Runner(DiscoverRunner):
    """Django's runner with that result."""

    def get_resultclass(self) -> type[unittest.TextTestResult]:
        """The class that records."""
        return Result

    def setup_databases(self, **options: Any) -> Any:
        """Make the databases, whose tables are captured from then on."""
        if is_captured():
            _listen()
        return super().setup_databases(**options)

    def teardown_databases(self, old_config: Any, **options: Any) -> None:
        """Count the entries, and drop the databases."""
        for each in {id(old[0]): old[0] for old in old_config}.values():
            with each.cursor() as cursor:
                count_capture(cursor, each.vendor, is_over=True)
        super().teardown_databases(old_config, **options)


def _listen() -> None:
    create, leave = Editor.create_model, Editor.__exit__
    made: set[int] = set()

    def create_model(editor: Editor, model: Any) -> None:
        create(editor, model)
        if not editor.collect_sql:
            made.add(id(editor))

    def leave_and_capture(editor: Editor, kind: Any, value: Any, trace: Any) -> None:
        has_new = id(editor) in made
        made.discard(id(editor))
        leave(editor, kind, value, trace)
        if has_new and kind is None:
            with transaction.atomic(using=editor.connection.alias):
                capture_new_tables(connections[editor.connection.alias])

    Editor.create_model, Editor.__exit__ = create_model, leave_and_capture  # type: ignore[method-assign, assignment]
