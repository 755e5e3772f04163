import copy
import pickle
import traceback

import psycopg

from svc_pg.database.sqlstates import translate
from svc_pg.errors import AccessError, ConfigError, ConsoleWeakSecretError, NotInstalledError, combined


def test_a_traceback_shows_the_hint_below_the_message() -> None:
    shown = traceback.format_exception(NotInstalledError("nothing is here", hint="Run: svc-pg install"))
    assert shown[-2:] == ["svc_pg.errors.NotInstalledError: nothing is here\n", "hint: Run: svc-pg install\n"]


def test_without_a_hint_a_traceback_ends_with_the_message() -> None:
    shown = traceback.format_exception(ConfigError("this is wrong"))
    assert shown == ["svc_pg.errors.ConfigError: this is wrong\n"]


def test_the_hint_is_there_once_also_in_a_copy() -> None:
    error = ConfigError("this is wrong", hint="Do that.")
    for each in (error, copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert (each.message, each.hint) == ("this is wrong", "Do that.")
        assert "".join(traceback.format_exception(each)).count("Do that.") == 1


def test_a_role_without_rights_in_schema_svc_is_told_where_they_are_given() -> None:
    ours = ("schema svc", "table audit_logs", "view audit_log_export", "function webhook_claim", "function hold")
    of_tables = ("function as_of_public_order", "view history_public_order", "view record_shop_Order Line")
    for what in (*ours, *of_tables):
        known = translate(psycopg.errors.InsufficientPrivilege(f"permission denied for {what}"))
        assert isinstance(known, AccessError)
        assert known.hint
        assert "Roles and rights" in known.hint
    for what in ("table secrets", "table hold", "schema shop", "function typed", "view orders"):
        assert translate(psycopg.errors.InsufficientPrivilege(f"permission denied for {what}")) is None


def test_several_problems_are_one_error_of_the_class_that_has_a_name_of_its_own() -> None:
    plain, weak = ConfigError("this is wrong", hint="Do that."), ConsoleWeakSecretError("too short")
    assert combined([plain]) is plain
    both = combined([plain, weak])
    assert type(both) is ConsoleWeakSecretError
    assert (both.message, both.hint) == ("too short\nthis is wrong. Do that.", None)
