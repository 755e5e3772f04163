"""A guard that lets webhooks of tests go to this machine alone, regardless of the configuration."""

from ipaddress import ip_address
from urllib.parse import urlsplit

from svc_pg.errors import EndpointError
from svc_pg.webhooks.http.guard import Guard, UrlBy


class ThisMachine(Guard):
    """A guard that lets connections go to addresses of the loopback interface, with http too, and to no other."""

    def __init__(self) -> None:
        super().__init__(allow_http=True)

    def given_by(self, who: UrlBy) -> Guard:  # noqa: ARG002 - of customers, too
        """The same guard for everybody's URLs."""
        return self

    def check_url(self, url: str) -> str:
        """As Guard's, but without a look at names elsewhere. Raises EndpointError."""
        checked = super().check_url(url)
        host = urlsplit(checked).hostname or ""
        if host != "localhost" and not host.endswith(".localhost") and not self.is_allowed(host):
            raise _elsewhere(host)
        return checked

    def is_allowed(self, address: str) -> bool:
        """True for an IP address of this machine alone."""
        try:
            return ip_address(address).is_loopback
        except ValueError:
            return False

    def _check_address(self, address: str, *, spelling: str) -> None:
        if not self.is_allowed(address):
            raise _elsewhere(spelling)


def _elsewhere(host: str) -> EndpointError:
    return EndpointError(
        f"{host} is not this machine, and tests send webhooks nowhere else",
        hint="Register a receiver of the test, such as svc_receiver.",
    )
