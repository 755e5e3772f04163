from datetime import timedelta

import pytest

from svc_pg.config import WebhooksConfig
from svc_pg.config.model import validated
from svc_pg.errors import ConfigError


@pytest.mark.parametrize("proxy", ["http://proxy:3128", "http://user:p%40ss@10.0.0.1:3128", "http://[::1]:3128/"])
def test_a_proxy_is_an_http_address(proxy: str) -> None:
    assert WebhooksConfig(proxy=proxy).proxy == proxy


@pytest.mark.parametrize(
    "proxy",
    [
        *("proxy:3128", "https://proxy", "socks5://proxy", "http://", "http://proxy:99999", "http://proxy/x"),
        *("http://[::1", "http://us%3Aer:99999@proxy"),
    ],
)
def test_what_is_no_proxy_is_refused_without_repeating_it(proxy: str) -> None:
    with pytest.raises(ConfigError, match="proxy: not the address of a proxy") as raised:
        validated(WebhooksConfig, {"proxy": proxy}, source="svc-pg.toml")
    assert "99999" not in raised.value.message  # there may be a password in it


def test_ended_deliveries_are_kept_for_durations() -> None:
    kept = WebhooksConfig.model_validate({"keep_delivered": "36h", "keep_failed": "2w"})
    assert (kept.keep_delivered, kept.keep_failed) == (timedelta(hours=36), timedelta(days=14))
    assert (WebhooksConfig().keep_delivered, WebhooksConfig().keep_failed) == (timedelta(days=7), timedelta(days=30))
    with pytest.raises(ConfigError, match="keep_failed: 'never' is not a duration"):
        validated(WebhooksConfig, {"keep_failed": "never"}, source="svc-pg.toml")
