"""Tell by the name of a column which sensitive values it holds."""

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Final

from svc_pg.scaffold.sensitive import Sensitive

_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_a-zA-Z]+")
_ABOUT_TEXT: Final = """
    active age algorithm at attempts by changed clicked confirmed content count created date days dir directory
    domain enabled expires expiry fk folder format hint host hours id interval is kind label language last length
    lifetime limit minutes model name on opened per policy port prefix primary provider required reset scope scopes
    seconds sent server set state status subject subscribed template text title total ttl type updated uri url
    usage used valid validated verified version visible
"""
_ABOUT: Final = frozenset(_ABOUT_TEXT.split())
"""Last words of names that tell something about such a value: token_type, email_verified_at."""
_WHOLE: Final[Mapping[str, Sensitive]] = {
    **dict.fromkeys(("password", "passwd", "pwd", "passphrase", "passcode", "passwort", "salt"), Sensitive.password),
    **dict.fromkeys(("token", "tokens", "secret", "secrets", "apikey", "otp", "totp", "jwt", "jwk"), Sensitive.token),
    **dict.fromkeys(("credential", "credentials", "cookie", "cookies", "pushkey"), Sensitive.token),
    "dsn": Sensitive.address,
    **dict.fromkeys(("cvv", "cvc", "cvv2", "cvc2"), Sensitive.card_code),
    **dict.fromkeys(("creditcard", "ccnum", "ccnumber", "cardnumber"), Sensitive.card),
    "iban": Sensitive.iban,
    **dict.fromkeys(("email", "emails", "mail"), Sensitive.mail),
    **dict.fromkeys(
        ("ssn", "nino", "cpf", "bsn", "pesel", "dni", "curp", "aadhaar", "passport"), Sensitive.national_id
    ),
    **dict.fromkeys(("phone", "telephone", "mobile", "cellphone", "fax", "msisdn", "tel"), Sensitive.phone),
}
"""Words that say it anywhere in a name."""
_LOGINS: Final = "admin box database db email ftp imap ldap login mail pop3 proxy root smtp user"
"""Words before a pass that is a password; a boarding pass is none."""
_CODES: Final = """
    activation authorization backup confirmation invitation invite login oauth recovery registration reset share
    verification
"""
"""Words before a code, or its hash, with which somebody signs in or gets a right."""
_SERVERS: Final = "broker connection database db mongo mongodb postgres postgresql redis smtp sqlalchemy"
"""Words before a URL that may have a password in it."""
_PAIRS: Final[Mapping[str, Sensitive]] = {
    **dict.fromkeys(("hashed_pass", "pass_hash"), Sensitive.password),
    **dict.fromkeys((f"{word}_pass" for word in _LOGINS.split()), Sensitive.password),
    **dict.fromkeys(
        (
            *(f"{word}_key" for word in ("api", "access", "private", "secret", "signing", "encryption", "auth")),
            *(f"{word}_key" for word in ("session", "license", "ssh", "push")),
            *(f"{word}_{code}" for word in _CODES.split() for code in ("code", "codes", "hash")),
            *("cookie_id", "auth_state"),
        ),
        Sensitive.token,
    ),
    **dict.fromkeys(
        (*(f"{word}_{url}" for word in _SERVERS.split() for url in ("uri", "url")), "connection_string"),
        Sensitive.address,
    ),
    **dict.fromkeys(("card_number", "card_no", "cc_number", "credit_card", "card_pan"), Sensitive.card),
    **dict.fromkeys(("card_code", "security_code"), Sensitive.card_code),
    **dict.fromkeys(("bank_account", "account_iban"), Sensitive.iban),
    **dict.fromkeys(("mail_address", "e_mail"), Sensitive.mail),
    **dict.fromkeys(("national_id", "tax_id", "tax_number", "tax_no", "social_security"), Sensitive.national_id),
    **dict.fromkeys(
        ("national_insurance", "personal_number", "codice_fiscale", "driving_licence"), Sensitive.national_id
    ),
    **dict.fromkeys(("driver_license", "drivers_license", "identity_number", "identity_card"), Sensitive.national_id),
    **dict.fromkeys(("cell_number", "mobile_number"), Sensitive.phone),
}
"""Two words that say it side by side."""
_OF_NUMBERS: Final = frozenset({Sensitive.card, Sensitive.national_id, Sensitive.phone, Sensitive.iban})


_UNNAMED_TEXT: Final = """
    ciphertext code digest hash hashed hashed_key key key_digest key_hash masked_value value wrapped_dek
"""
_UNNAMED: Final = frozenset(_UNNAMED_TEXT.split())
"""The columns that hold the secrets in a table of secrets, whose name says which."""


def by_name(column: str, *, table: str = "", is_number: bool = False) -> Sensitive | None:
    """The kind that the name of a column tells, in a table of secrets also its name; of a number only those that
    numbers can be.
    """
    words = words_of(column)
    found = _in_words(words)
    if found is None and "_".join(words) in _UNNAMED:
        found = _of_secrets(words_of(table))
    return None if is_number and found not in _OF_NUMBERS else found


def words_of(name: str) -> list[str]:
    """The words of a name in lower case: ``CustomerName`` and ``customer_name`` have the same."""
    return [word.lower() for word in _WORDS.findall(name)]


def _of_secrets(words: list[str]) -> Sensitive | None:
    """The kind of secrets for which a table is named at its end: authtoken_token, api_keys, wagtailcore_apitoken."""
    if not words:
        return None
    *others, last = words
    singular = [*others, last.removesuffix("s")]
    found = _in_words(singular[-1:]) or _PAIRS.get("_".join(singular[-2:]))
    if found is None and singular[-1].endswith(("token", "secret", "apikey")):
        found = Sensitive.token
    return found if found is not None and found.is_secret else None


def _in_words(words: list[str]) -> Sensitive | None:
    pairs = [f"{one}_{other}" for one, other in pairwise(words)]
    paired = next((_PAIRS[pair] for pair in pairs if pair in _PAIRS), None)
    if paired is not None and (words[-1] not in _ABOUT or pairs[-1] in _PAIRS):
        return paired
    if not words or words[-1] in _ABOUT:
        return None
    if any(word in _WHOLE and _WHOLE[word].is_secret for word in words):
        return next(_WHOLE[word] for word in words if word in _WHOLE and _WHOLE[word].is_secret)
    if words[0] == "encrypted" and len(words) > 1:
        return Sensitive.encrypted
    return next((_WHOLE[word] for word in words if word in _WHOLE), None)
