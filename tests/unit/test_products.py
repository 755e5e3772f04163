"""The products of a configuration: which lists are refused, and how they are recorded."""

from pathlib import Path

import pytest

from svc_pg import Config
from svc_pg.config.installed_parts import config_of, parts_of, products_of
from svc_pg.errors import ConfigError
from svc_pg.schema.unsupported import refuse_unsupported

BOTH = ["audit", "webhooks"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('["nonsense"]', "products[0]: write 'audit' or 'webhooks'"),
        ("[]", 'products: it is empty; write ["audit"] or ["webhooks"], or leave it out for both'),
        ('"audit"', "products: write a list"),
    ],
)
def test_other_products_are_refused(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "svc-pg.toml"
    file.write_text(f"products = {text}\n")
    with pytest.raises(ConfigError) as error:
        Config.from_toml(file)
    assert error.value.message.startswith(f"{file}: {problem}")


def test_all_products_are_recorded_as_before_there_was_a_choice() -> None:
    assert parts_of(Config(products=["webhooks", "audit", "audit"])) == parts_of(Config()) == {}
    assert parts_of(Config(products=["audit"])) == {("products",): ["audit"]}
    assert parts_of(Config(products=["webhooks", "webhooks"])) == {("products",): ["webhooks"]}


def test_a_database_keeps_its_products_unless_the_configuration_names_some() -> None:
    only = parts_of(Config(products=["audit"]))
    assert products_of(Config(), None) == products_of(Config(), {}) == BOTH
    assert products_of(Config(), only) == ["audit"]
    assert products_of(Config(products=["audit", "webhooks"]), only) == BOTH
    assert products_of(config_of({}, source="a revision"), only) == BOTH


def test_a_database_that_has_the_audit_trail_alone_refuses_webhooks() -> None:
    refuse_unsupported(Config(products=["audit"]), "SQLite")
    with pytest.raises(ConfigError, match="products: webhooks are sent from PostgreSQL: SQLite cannot do that"):
        refuse_unsupported(Config(products=["audit", "webhooks"]), "SQLite")
