"""The kinds of values that a log should not show, each with its proposed redaction."""

from enum import Enum

from svc_pg.config.audited_table import Redaction


class Sensitive(Enum):
    """A kind of sensitive value: its redaction, and the nouns for a comment."""

    password = ("remove", "a password", "password hashes")
    token = ("remove", "a token or a key", "tokens or keys")
    address = ("remove", "an address with a password", "addresses with a password")
    encrypted = ("remove", "an encrypted value", "encrypted values")
    card_code = ("remove", "the code of a payment card", "codes of payment cards")
    card = ("last4", "a payment card", "payment cards")
    iban = ("last4", "a bank account", "IBANs")
    mail = ("hash", "a mail address", "mail addresses")
    national_id = ("hash", "a national id", "national ids")
    phone = ("mask", "a phone number", "phone numbers")

    def __init__(self, redaction: Redaction, singular: str, plural: str) -> None:
        self.redaction: Redaction = redaction
        self.singular = singular
        self.plural = plural

    @property
    def is_secret(self) -> bool:
        """True if nothing of the value may stay."""
        return self.redaction == "remove"
