"""The audit logs of databases other than PostgreSQL, as in tests/integration."""

from tests.integration.portable.conftest import conn as conn
from tests.integration.portable.conftest import log as log
from tests.integration.portable.conftest import module_log as module_log
