"""TLS of connections to MySQL and MariaDB, as the options of an address say it.

The modes are those of the servers' own clients (MySQL 9 Reference Manual, "Configuring MySQL to Use Encrypted
Connections"), the names of files those of SQLAlchemy's addresses. PyMySQL's own arguments do not verify by a CA alone.
"""

import ssl
from collections.abc import Mapping
from typing import Any, Final

from svc_pg.errors import ConfigError

_MODES: Final = ("disabled", "preferred", "required", "verify_ca", "verify_identity")
_OPTIONS: Final = frozenset({"ssl_mode", "ssl_ca", "ssl_cert", "ssl_key", "ssl_check_hostname"})
_HINT: Final = (
    f"Write ssl_mode={'|'.join(_MODES)}, and ssl_ca, ssl_cert and ssl_key with the paths of files in PEM."
    " With ssl_ca, the server's certificate and name are verified unless ssl_mode or ssl_check_hostname says otherwise."
)
_FILES: Final = "The options of TLS name files in PEM that this process can read; a key has no password."
_TRUE: Final = frozenset({"true", "yes", "on", "y", "t", "1"})
_FALSE: Final = frozenset({"false", "no", "off", "n", "f", "0"})


def tls_arguments(options: Mapping[str, str], *, name: str) -> dict[str, Any]:
    """The arguments of PyMySQL's ``connect`` for the options of an address; it has one context for all connections.

    An option may be written with ``-`` for ``_``. Other options are skipped. Raises ConfigError for an unknown option
    of TLS, so that an unverified connection cannot pass for a verified one.
    """
    given = {
        option: value
        for written, value in options.items()
        if (option := written.lower().replace("-", "_")).startswith(("ssl", "tls"))
    }
    if unknown := sorted(given.keys() - _OPTIONS):
        raise ConfigError(f"{name} has an option of TLS that is not known: {unknown[0]}", hint=_HINT)
    mode = _mode(given, name)
    if mode == "disabled":
        return {"ssl_disabled": True}
    return {} if mode == "preferred" else {"ssl": _context(given, mode, name)}


def unverified() -> ssl.SSLContext:
    """The context of ``ssl_mode=preferred`` and ``required``, which accept any certificate."""
    return _context({}, "required", "")


def _mode(given: Mapping[str, str], name: str) -> str:
    checks = given.get("ssl_check_hostname", "true").lower()
    if checks not in _TRUE | _FALSE:
        raise ConfigError(f"{name}: ssl_check_hostname is neither true nor false", hint=_HINT)
    if "ssl_mode" in given:
        mode = given["ssl_mode"].lower().replace("-", "_")
        if mode not in _MODES:
            raise ConfigError(f"{name}: ssl_mode is none of those that are known", hint=_HINT)
        return mode
    if "ssl_ca" in given:
        return "verify_identity" if checks in _TRUE else "verify_ca"
    return "required" if given.keys() & {"ssl_cert", "ssl_key"} else "preferred"


def _context(given: Mapping[str, str], mode: str, name: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = mode == "verify_identity"
    context.verify_mode = ssl.CERT_NONE if mode == "required" else ssl.CERT_REQUIRED
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # which certificates that a server makes for itself do not pass
    if "ssl_key" in given and "ssl_cert" not in given:
        raise ConfigError(f"{name} has an ssl_key, but no ssl_cert", hint=_HINT)
    option = "ssl_ca"
    try:
        if "ssl_ca" in given:
            context.load_verify_locations(given["ssl_ca"])
        elif mode != "required":
            context.load_default_certs()
        option = "ssl_cert"
        if "ssl_cert" in given:
            context.load_cert_chain(given["ssl_cert"], given.get("ssl_key"), password="")  # or OpenSSL asks for it
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"{name}: what {option} names cannot be loaded: {reason}", hint=_FILES) from error
    return context
