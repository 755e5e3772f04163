"""The databases of these modules have the module's configuration from the beginning, as those of tests/integration."""

from tests.integration.webhooks.conftest import prepare as prepare
