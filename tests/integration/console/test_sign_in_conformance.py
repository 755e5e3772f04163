"""The routes of signing in answer only what their document promises, whatever they are sent."""

import httpx
import pytest

from svc_pg.console import Console
from tests.integration.console.conformance import RANDOM_IN_A_THREAD, assert_conforms, operations
from tests.integration.console.signing_in import Device, Mailbox, magic_settings, new_address

pytestmark = pytest.mark.filterwarnings(RANDOM_IN_A_THREAD)
DOCUMENT = Console(magic_settings("dbname=none"), email_sender=Mailbox()).openapi()
OPERATIONS = [each for each in operations(DOCUMENT) if "/console/session/" in each]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_answer_of_signing_in_is_one_that_the_document_promises(magic: httpx.Client, operation: str) -> None:
    device = Device(magic, new_address())
    assert_conforms(DOCUMENT, operation, base_url=str(magic.base_url), headers=device.bearer)


def test_all_routes_of_signing_in_are_documented() -> None:
    assert sorted(OPERATIONS) == [
        "GET /console/session/poll",
        "POST /console/session/claim",
        "POST /console/session/init",
        "POST /console/session/verify",
    ]
