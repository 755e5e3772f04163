"""The cookies of the pages: the session, the sign-in under way, the device that has signed in, the portal, the theme,
a secret that is shown once, and the problem of a form.

Product routes ignore them all.
"""

from dataclasses import dataclass
from typing import Final

from svc_pg.console.http.requests import ConsoleRequest, Problem

SESSION: Final = "svc_console"
SIGN_IN: Final = "svc_console_sign_in"
DEVICE: Final = "svc_console_device"
PORTAL: Final = "svc_portal"
THEME: Final = "svc_theme"
SHOWN: Final = "svc_shown"
REFUSED: Final = "svc_refused"

MAX_CHARACTERS: Final = 3500
"""The longest value: browsers keep 4096 with the name and the attributes."""


@dataclass(frozen=True, slots=True)
class Cookies:
    """Writes cookies for ``path`` alone, out of reach of scripts and of other sites.

    If ``is_secure``, browsers send them over https only, and refuse them from any page that came without it.
    """

    path: str
    is_secure: bool
    is_embedded: bool = False
    """If so, pages of other sites may have these in a frame, each with cookies of its own (CHIPS)."""

    def read(self, request: ConsoleRequest, name: str) -> str | None:
        """The value of a cookie, or None. Raises Problem 400 if there are several, of which one may be planted."""
        found = self.read_all(request, name)
        if len(found) > 1:
            raise Problem(
                400,
                "several_cookies",
                f"The browser sent several cookies named {self._name(name)}, of which another site of this domain may "
                "have set one. Remove the cookies of this site from the browser, then sign in again.",
            )
        return found[0] if found and found[0] else None

    def read_all(self, request: ConsoleRequest, name: str) -> list[str]:
        """The values of all cookies of this name; the first is that of the longest path."""
        wanted = self._name(name)
        pairs = [pair.strip().partition("=") for pair in ";".join(request.headers.getlist("cookie")).split(";")]
        return [value for key, _, value in pairs if key == wanted]

    def write(self, name: str, value: str, *, seconds: int) -> str:
        """A Set-Cookie header. ``value`` is made of the characters that a token may have."""
        if len(value) > MAX_CHARACTERS:
            raise ValueError("the cookie is too long for a browser to keep")
        kept = f"{self._name(name)}={value}; Path={self.path}; Max-Age={seconds}; HttpOnly"
        if self.is_embedded:  # which works over https alone
            return f"{kept}; SameSite=None; Secure; Partitioned"
        return f"{kept}; SameSite=Strict{'; Secure' if self.is_secure else ''}"

    def remove(self, name: str) -> str:
        """A Set-Cookie header that ends a cookie."""
        return self.write(name, "", seconds=0)

    def _name(self, name: str) -> str:
        return f"__Secure-{name}" if self.is_secure or self.is_embedded else name
