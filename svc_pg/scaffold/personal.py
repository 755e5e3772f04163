"""Tell by its name a column that says who a person is: a name, a birth, a postal address.

Nothing is proposed to be redacted there: a log in which nobody has a name cannot be read, ``svc-pg erase`` takes the
values of one person out later, and which of them are wanted only the application's people know. So it is said, and
theirs to decide.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from svc_pg.scaffold.column_names import words_of

_ALONE: Final = frozenset(
    [
        "firstname",
        "lastname",
        "fullname",
        "surname",
        "forename",
        "nickname",
        "middlename",
        "maidenname",
        "birthdate",
        "birthday",
        "dob",
        "vorname",
        "nachname",
        "geburtsdatum",
        "street",
        "street1",
        "street2",
        "streetname",
        "streetaddress",
    ]
)
"""Words that say it anywhere in a name."""
_NAMED: Final = frozenset(
    ["first", "last", "full", "given", "family", "middle", "maiden", "legal", "preferred", "nick", "sur", "fore"]
)
"""Words before a name that make it a person's."""
_PERSON_TEXT: Final = """
    applicant attendee author beneficiary borrower buyer candidate carer child client clinician contact contributor
    customer debtor delegate donor driver employee father guardian guest holder insured lead manager member mother
    owner parent participant partner passenger patient payee payer people person player practitioner purchaser
    recipient referrer reporter resident sender signatory signer speaker spouse staff student subscriber supplier
    surveyor teacher tenant traveller user visitor volunteer voter worker
"""
_PERSONS: Final = frozenset(_PERSON_TEXT.split())
"""Words for persons, in the name of a column before name, or at the end of a table's."""
_BIRTH: Final = frozenset({("birth", "date"), ("of", "birth")})
_ADDRESSES: Final = frozenset(
    ["billing", "shipping", "home", "postal", "mailing", "street", "delivery", "residential", "invoice"]
)
"""Words before an address that is a postal one; an IP address is none."""
_OF_ADDRESSES: Final = frozenset(["line", "postcode", "postal code", "zip", "zip code", "zipcode"])
"""Columns that are a part of a postal address in a table of such addresses."""


def is_personal(column: str, *, table: str = "") -> bool:
    """True if the name of the column tells it, for a plain ``name`` or ``address`` with that of its table."""
    words = words_of(column)
    if not words:
        return False
    if words[-1] in _ALONE or _BIRTH & {*pairwise(words)}:
        return True
    if " ".join(words) in _OF_ADDRESSES and _is_of_addresses(table):
        return True
    *before, last = words
    if last in ("name", "names"):
        return before[-1] in _NAMED | _PERSONS if before else _is_of_persons(table)
    if "address" in words and last in ("address", "line"):
        return words[0] in _ADDRESSES or (words[0] == "address" and _is_of_persons(table))
    return False


def personal_columns(columns: Iterable[str], *, table: str) -> Sequence[str]:
    """The columns of a table that tell it."""
    return [column for column in columns if is_personal(column, table=table)]


def _is_of_addresses(table: str) -> bool:
    words = words_of(table)
    return bool(words) and words[-1].endswith(("address", "addresses")) and "email" not in words[-1]


def _is_of_persons(table: str) -> bool:
    words = words_of(table)
    return bool(words) and (words[-1] in _PERSONS or words[-1].removesuffix("s") in _PERSONS)
