"""Parts of a page that ask the API the same question ask it once."""

from collections import Counter
from typing import Any

import pytest

from svc_pg.console import Console
from svc_pg.console.core import Core
from tests.integration.console.browsing import Browser, signed_in
from tests.integration.console.serving import serving_installed, settings


@pytest.mark.parametrize("address", ["/search?q=nobody", "/audit?text=nobody"])
def test_a_search_that_finds_nothing_counts_names_once(
    database: str, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    calls: Counter[str] = Counter()
    call = Core.call

    async def counted(core: Core, request: Any, *others: Any) -> Any:
        calls[f"{request.method} {request.path}"] += 1
        return await call(core, request, *others)

    with serving_installed(Console(settings(database_url=database))) as client:
        browser: Browser = signed_in(client, "admin")
        monkeypatch.setattr(Core, "call", counted)
        assert browser.get(address).status_code == 200
    assert calls["GET /audit/facets"] == calls["GET /audit/tables"] == 1
