import os

import pytest


@pytest.fixture(autouse=True)
def _empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the machine's own settings from the environment."""
    for name in list(os.environ):
        if name.startswith("SVC_") or name == "DATABASE_URL":
            monkeypatch.delenv(name)
