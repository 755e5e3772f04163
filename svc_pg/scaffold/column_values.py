"""Tell by a sample of its values which sensitive values a column holds. No value leaves this module."""

import re
from collections.abc import Callable, Collection, Mapping
from typing import Final

from svc_pg.scaffold.sensitive import Sensitive

_ALL: Final = 0.95
_MOST: Final = 0.6
_FEW: Final = 0.1
"""Of addresses only some have a password, and each of those is one too many."""
_FEWEST_NUMBERS: Final = 3
"""Every tenth number has the check digit of a payment card, so one or two prove nothing."""
_CARD: Final = re.compile(r"[2-6]\d{3}([ -]?)\d{4,6}\1\d{4,5}(\1\d{1,4})?")
_IBAN: Final = re.compile(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}")
_MAIL: Final = re.compile(r"[^@\s<>]{1,64}@[^@\s<>.]+(\.[^@\s<>.]+)+")
_PASSWORD: Final = re.compile(
    r"\$(1|2[abxy]?|5|6|y|7|apr1|argon2(i|d|id)|scrypt|pbkdf2[\w-]*|bcrypt[\w-]*)\$\S+"
    r"|(pbkdf2_sha(1|256)|argon2|bcrypt(_sha256)?|scrypt|md5|sha1)\$\S+"  # Django's
    r"|(scrypt:\d+:\d+:\d+|pbkdf2:sha\w+(:\d+)?)\$\S+"  # Werkzeug's
    r"|\{(SSHA|SHA|CRYPT|BCRYPT|ARGON2)\d*\}\S+|SCRAM-SHA-(1|256)\$\S+"
)
_TOKEN: Final = re.compile(
    r"eyJ[\w-]+\.eyJ[\w-]+\.[\w-]*"
    r"|(sk|rk|pk)_(live|test)_\w{8,}|sk-[\w-]{16,}|gh[opusr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}"
    r"|xox[abeoprs]-[\w-]{8,}|(AKIA|ASIA)[0-9A-Z]{12,}|AIza[\w-]{20,}|SG\.[\w-]{16,}\.[\w-]+|whsec_\S{16,}|pypi-\w{16,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*",
    re.DOTALL,
)
_ADDRESS: Final = re.compile(r"[a-z][a-z0-9+.-]{0,40}://[^/\s:@]*:[^/\s@]+@\S+", re.IGNORECASE)
_PHONE: Final = re.compile(
    r"\+\d[\d ()./-]{6,20}|\(0?\d{2,4}\) ?\d[\d ./-]{4,14}|0\d{1,4}[ /-]\d[\d -]{4,12}|\d{3}([-. ])\d{3}\1\d{4}"
)
_NATIONAL: Final = re.compile(
    r"(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}"  # of the USA
    r"|[A-CEGHJ-PR-TW-Z]{2} ?\d{2} ?\d{2} ?\d{2} ?[A-D]"  # of the United Kingdom
    r"|\d{3}\.\d{3}\.\d{3}-\d{2}"  # of Brazil
    r"|[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z]"  # of Italy
)
_SPANISH: Final = re.compile(r"\d{8}-?[A-Z]")


def by_values(values: Collection[str], *, is_number: bool = False) -> Sensitive | None:
    """The kind that most values of a sample are; None of an empty sample. A card needs nearly all of them."""
    found = [value.strip() for value in values if value.strip()]
    if not found or (is_number and len(set(found)) < _FEWEST_NUMBERS):
        return None
    for kind, (part, is_one) in ({Sensitive.card: (_ALL, _is_card)} if is_number else _TESTS).items():
        if sum(map(is_one, found)) >= part * len(found):
            return kind
    return None


def _is_card(text: str) -> bool:
    return _CARD.fullmatch(text) is not None and _has_check_digit(re.sub(r"\D", "", text))


def _has_check_digit(digits: str) -> bool:
    """The formula of Luhn (ISO/IEC 7812-1), for 13 digits or more."""
    if len(digits) < 13 or len(set(digits)) == 1:
        return False
    doubled = [int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits))]
    return sum(number - 9 * (number > 9) for number in doubled) % 10 == 0


def _is_iban(text: str) -> bool:
    """The check of ISO 13616, by the rest of a division by 97."""
    plain = text.replace(" ", "").upper()
    if _IBAN.fullmatch(plain) is None:
        return False
    return int("".join(str(int(char, 36)) for char in plain[4:] + plain[:4])) % 97 == 1


def _is_phone(text: str) -> bool:
    return _PHONE.fullmatch(text) is not None and 7 <= sum(map(str.isdigit, text)) <= 15


def _is_national_id(text: str) -> bool:
    if _SPANISH.fullmatch(text):
        return text[-1] == "TRWAGMYFPDXBNJZSQVHLCKE"[int(text[:8]) % 23]
    return _NATIONAL.fullmatch(text) is not None


def _like(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: pattern.fullmatch(text) is not None


_TESTS: Final[Mapping[Sensitive, tuple[float, Callable[[str], bool]]]] = {
    Sensitive.password: (_MOST, _like(_PASSWORD)),
    Sensitive.token: (_MOST, _like(_TOKEN)),
    Sensitive.address: (_FEW, _like(_ADDRESS)),
    Sensitive.mail: (_MOST, _like(_MAIL)),
    Sensitive.iban: (_MOST, _is_iban),
    Sensitive.card: (_ALL, _is_card),
    Sensitive.national_id: (_MOST, _is_national_id),
    Sensitive.phone: (_MOST, _is_phone),
}
