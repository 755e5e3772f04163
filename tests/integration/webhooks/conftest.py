"""Databases with the module's configuration from the beginning."""

import pytest

from svc_pg import Config
from tests.support.hooks import install
from tests.support.postgres import Prepare


@pytest.fixture(scope="module")
def prepare(request: pytest.FixtureRequest) -> Prepare:
    """Install CONFIG of the module, if it has one."""
    config = getattr(request.module, "CONFIG", None)
    return (lambda conninfo: install(conninfo, config)) if isinstance(config, Config) else None
