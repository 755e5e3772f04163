"""The columns that a proposal redacts, by their names and by their values."""

import pytest

from svc_pg.scaffold.column_names import by_name
from svc_pg.scaffold.column_values import by_values
from svc_pg.scaffold.personal import is_personal, personal_columns
from svc_pg.scaffold.sensitive import Sensitive


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        ("password", "password"),
        ("passwordHash", "password"),
        ("encrypted_password", "password"),
        ("PasswordSalt", "password"),
        ("api_key", "token"),
        ("apiKeyHash", "token"),
        ("reset_password_token", "password"),
        ("refresh_token", "token"),
        ("totp_secret", "token"),
        ("sign_jwk", "token"),
        ("email_box_pass", "password"),
        ("user_pass", "password"),
        ("cookie_id", "token"),
        ("encrypted_auth_state", "token"),
        ("emailVerificationCode", "token"),
        ("registration_hash", "token"),
        ("inviteCode", "token"),
        ("pushkey", "token"),
        ("push_key", "token"),
        ("encrypted_extra", "encrypted"),
        ("encryptedValue", "encrypted"),
        ("sqlalchemy_uri", "address"),
        ("DatabaseUrl", "address"),
        ("connection_string", "address"),
        ("dsn", "address"),
        ("card_number", "card"),
        ("CreditCard", "card"),
        ("cvv", "card_code"),
        ("customer_iban", "iban"),
        ("Email", "mail"),
        ("billing_email_address", "mail"),
        ("e_mail", "mail"),
        ("ssn", "national_id"),
        ("tax_id", "national_id"),
        ("MobilePhone", "phone"),
        ("Fax", "phone"),
    ],
)
def test_the_name_of_a_column_tells_what_it_holds(column: str, kind: str) -> None:
    assert by_name(column) is Sensitive[kind]


@pytest.mark.parametrize(
    "column",
    ["", "_", "42", "name", "token_type", "email_verified", "password_changed_at", "card_count", "token_id",
     "api_key_id", "phone_model", "email_subject", "description", "mailbox", "discard", "author", "hash",
     "tokenizer", "é", "refresh_token_lifetime_seconds", "email_box_host", "email_box_port", "email_box_imap_folder",
     "email_box_local_dir", "boarding_pass", "pass", "country_code", "discount_code", "state", "cookie_name",
     "encrypted", "is_encrypted", "encrypted_at", "avatar_url", "external_url", "connection_name", "file_hash"],
)  # fmt: skip
def test_a_name_about_such_a_value_tells_nothing(column: str) -> None:
    assert by_name(column) is None


@pytest.mark.parametrize(
    ("table", "column"),
    [("authtoken_token", "key"), ("knox_authtoken", "digest"), ("wagtailcore_apitoken", "key_hash"),
     ("api_keys", "hash"), ("RecoveryCode", "code"), ("client_secrets", "value"), ("tokens", "key"),
     ("api_tokens", "hashed"), ("share_codes", "hashed"), ("oauth_codes", "code"),
     ("secrets", "wrapped_dek"), ("secrets", "masked_value")],
)  # fmt: skip
def test_the_name_of_a_table_of_secrets_tells_what_its_plain_columns_hold(table: str, column: str) -> None:
    assert by_name(column, table=table) is Sensitive.token
    assert by_name(column) is None
    assert by_name("prefix", table=table) is None


@pytest.mark.parametrize(
    "table",
    [
        "",
        "orders",
        "password_policy",
        "secret_santa",
        "token_types",
        "keys",
        "email",
        "phone",
        "coupon",
        "country_codes",
    ],
)
def test_the_columns_of_other_tables_hold_no_secret(table: str) -> None:
    assert by_name("key", table=table) is None


def test_a_number_is_no_password_and_counts_no_secret() -> None:
    assert by_name("tokens", is_number=True) is None
    assert by_name("card_number", is_number=True) is Sensitive.card


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["4111 1111 1111 1111", "5500000000000004"], "card"),
        (["378282246310005"], "card"),
        (["mara@shop.example", "jan.o'hara+x@mail.shop.example", "n/a"], "mail"),
        (["postgresql://shop:secret@db.example/shop", *["sqlite://"] * 8], "address"),
        (["https://bot:pass@hooks.example/1"], "address"),
        (["DE89 3704 0044 0532 0130 00", "GB82WEST12345698765432"], "iban"),
        (["pbkdf2_sha256$870000$salt$c2FsdA="], "password"),
        (["$2b$12$KIXQ4S1o1V8Yw3s5b7u9eO", "$argon2id$v=19$m=65536,t=3,p=4$c2FsdA$aGFzaA"], "password"),
        (["scrypt:32768:8:1$salt$abcdef"], "password"),
        (["eyJhbGciOi.eyJzdWIiOi.c2lnbg"], "token"),
        (["sk_live_abcdefgh12345678", "ghp_abcdefghijklmnopqrst1234"], "token"),
        (["+1 (780) 428-9482", "+49 30 1234567", "(030) 123456"], "phone"),
        (["078-05-1120"], "national_id"),
        (["12345678Z"], "national_id"),
        (["AB123456C"], "national_id"),
    ],
)
def test_values_tell_what_a_column_holds(values: list[str], kind: str) -> None:
    assert by_values(values) is Sensitive[kind]


@pytest.mark.parametrize(
    "values",
    [
        [],
        ["", "  "],
        ["2026-01-31", "2026-02-28"],
        ["192.168.0.1", "10.0.0.1"],
        ["https://shop.example:8443/a@b", "https://shop.example/?a:b@c", "redis://shop@cache.example/0"],
        ["4111111111111112"],
        ["0000000000000000"],
        ["Ann", "Ben", "mara@shop.example"],
        ["GB83WEST12345698765432"],
        ["8d969eef6ecad3c29a3a629280e686cf0c3f5d5a86aff3ca12020c923adc6c92"],
        ["12345678A"],
        ["T6G 2C7", "10 000", "1.5"],
    ],
)
def test_other_values_tell_nothing(values: list[str]) -> None:
    assert by_values(values) is None


def test_a_few_numbers_with_a_check_digit_are_no_cards() -> None:
    assert by_values(["4111111111111111"] * 5, is_number=True) is None
    cards = ["4111111111111111", "5500000000000004", "4012888888881881"]
    assert by_values(cards, is_number=True) is Sensitive.card


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        ("orders", ["customer_name", "CustomerName", "billing_address", "shipping_address_line1", "contactName"]),
        ("auth_user", ["first_name", "last_name"]),
        ("employee", ["FirstName", "LastName", "BirthDate", "name", "address", "nickname", "date_of_birth"]),
        ("customers", ["name", "full_name", "street", "address"]),
        ("policies", ["policy_holder_name", "insured_name", "dob"]),
        ("order_shippingaddress", ["last_name", "line1", "line2", "postcode"]),
    ],
)
def test_a_column_that_tells_who_a_person_is_is_personal(table: str, columns: list[str]) -> None:
    assert personal_columns(columns, table=table) == columns


@pytest.mark.parametrize(
    ("table", "column"),
    [
        *(("products", name) for name in ("name", "product_name", "brand_name", "address", "ip_address", "")),
        *(("orders", name) for name in ("name", "customer_id", "file_name", "table_name", "mail_address", "last_seen")),
        *(("order_line", name) for name in ("line", "postcode_id", "line_price")),
        *(("server", name) for name in ("hostname", "bind_address", "domain_name", "column_names", "first", "_")),
        *(("user_settings", name) for name in ("name", "value", "username_field", "named", "renames")),
    ],
)
def test_a_name_of_a_thing_is_not_personal(table: str, column: str) -> None:
    assert not is_personal(column, table=table)
