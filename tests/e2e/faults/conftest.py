"""Databases with the module's configuration from the beginning, as in tests/integration."""

from tests.integration.webhooks.conftest import prepare as prepare
