import os

import pytest


@pytest.fixture(autouse=True)
def _empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings of the machine that runs the tests do not count."""
    for name in list(os.environ):
        if name.startswith("SVC_") or name == "DATABASE_URL":
            monkeypatch.delenv(name)
