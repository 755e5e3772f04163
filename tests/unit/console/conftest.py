import os

import pytest


@pytest.fixture(autouse=True)
def _empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is set on the machine that runs the tests does not count."""
    for name in list(os.environ):
        if name.startswith("SVC_") or name == "DATABASE_URL":
            monkeypatch.delenv(name)
