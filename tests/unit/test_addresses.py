import pytest

from svc_pg.settings.addresses import SmtpServer, email_or_pattern, is_email, page_url, unreachable


@pytest.mark.parametrize(
    "text", ["ann@corp.example", "a.b+c@sub.corp.example", "dev@localhost", "o'neil@corp.example", "x@xn--bcher-kva.de"]
)
def test_one_address_is_one_address(text: str) -> None:
    assert is_email(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "@",
        "ann",
        "ann@",
        "@corp.example",
        "ann@corp.example\n",
        "ann@corp.example, bob@corp.example",
        "Ann <ann@corp.example>",
        "ann@@corp.example",
        ".ann@corp.example",
        "ann.@corp.example",
        "ann@corp..example",
        "ann@-corp.example",
        "ann@corp_.example",
        "*@corp.example",
        "ann@bücher.example",
        "änn@corp.example",
        "a" * 65 + "@corp.example",
        "ann@" + "a" * 64 + ".example",
        "ann@" + "a." * 125 + "example",
    ],
)
def test_anything_else_is_no_address(text: str) -> None:
    assert not is_email(text)


@pytest.mark.parametrize(
    ("text", "read"), [("Ann@Corp.example", "ann@corp.example"), ("*@Corp.example", "*@corp.example")]
)
def test_addresses_and_patterns_are_kept_in_lower_case(text: str, read: str) -> None:
    assert email_or_pattern(text) == read


@pytest.mark.parametrize("text", ["*", "*@*", "*@", "*ann@corp.example", "**@corp.example", "*@corp.*", "corp.example"])
def test_only_the_whole_of_a_domain_is_a_pattern(text: str) -> None:
    with pytest.raises(ValueError, match=r"\*@domain"):
        email_or_pattern(text)


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("smtp://mail.example", SmtpServer("mail.example", 587, starttls=True)),
        ("smtp://mail.example:2525/", SmtpServer("mail.example", 2525, starttls=True)),
        ("smtp://127.0.0.1?starttls=off", SmtpServer("127.0.0.1", 25, starttls=False)),
        ("smtp://[::1]:25?starttls=require", SmtpServer("::1", 25, starttls=True)),
        (
            "smtp://a%40b:p%3Aw%2Fd@mail.example",
            SmtpServer("mail.example", 587, starttls=True, user="a@b", password="p:w/d"),
        ),
    ],
)
def test_a_url_names_an_smtp_server(url: str, server: SmtpServer) -> None:
    assert SmtpServer.parse(url) == server


@pytest.mark.parametrize(
    "url",
    [
        "",
        "mail.example",
        "smtps://mail.example",
        "smtp://",
        "smtp://:25",
        "smtp://geheim@mail.example",
        "smtp://u:geheim@mail.example:0",
        "smtp://u:geheim@mail.example:port",
        "smtp://u:geheim@mail.example/path",
        "smtp://u:geheim@mail.example?starttls=maybe",
        "smtp://u:geheim@mail.example?tls=require",
        "smtp://u:geheim@mail.example?starttls=off",
        "smtp://u:geheim@mail.example#geheim",
        "smtp://u:geheim@mail .example",
        "smtp://u:geheim@mail.example\n",
    ],
)
def test_any_other_smtp_url_is_refused_and_its_password_not_shown(url: str) -> None:
    with pytest.raises(ValueError, match=r".") as refusal:
        SmtpServer.parse(url)
    assert "geheim" not in f"{refusal.value!r} {refusal.value.__cause__!r}"


def test_the_password_is_not_in_the_text_of_a_server() -> None:
    assert "geheim" not in repr(SmtpServer.parse("smtp://u:geheim@mail.example"))


@pytest.mark.parametrize("url", ["https://console.example", "http://localhost:3000/sign-in"])
def test_a_page_is_http(url: str) -> None:
    assert page_url(url) == url


@pytest.mark.parametrize(
    "url",
    ["", "console.example", "javascript:alert(1)", "https://", "https://u:p@h", "https://h/?x=1", "https://h/\nBcc: x"],
)
def test_anything_else_is_no_page(url: str) -> None:
    with pytest.raises(ValueError, match=r"write"):
        page_url(url)


@pytest.mark.parametrize(
    ("url", "where"),
    [
        ("http://127.0.0.1:8000", "127.0.0.1 opens on this machine alone"),
        ("http://127.9.9.9", "127.9.9.9 opens on this machine alone"),
        ("http://0.0.0.0:8000/x", "0.0.0.0 opens on this machine alone"),
        ("http://[::1]:8000", "::1 opens on this machine alone"),
        ("https://LocalHost./ui", "localhost. opens on this machine alone"),
        ("https://shop.localhost", "shop.localhost opens on this machine alone"),
        ("http://10.1.2.3", "10.1.2.3 opens within its network alone"),
        ("http://192.168.0.7:8000", "192.168.0.7 opens within its network alone"),
        ("http://169.254.1.1", "169.254.1.1 opens within its network alone"),
        ("http://[fd00::1]", "fd00::1 opens within its network alone"),
        ("http://[fe80::1]", "fe80::1 opens within its network alone"),
        ("http://console:8000", "console opens within its network alone"),
        ("http://console.internal", "console.internal opens within its network alone"),
        ("http://printer.local", "printer.local opens within its network alone"),
    ],
)
def test_an_address_of_this_machine_or_its_network_is_warned_of(url: str, where: str) -> None:
    warning = unreachable(url)
    assert warning is not None
    assert where in warning
    assert "SVC_CONSOLE_PUBLIC_URL" in warning


@pytest.mark.parametrize(
    "url", ["https://console.example", "https://8.8.8.8", "https://[2606:4700::1111]", "http://", "http://[::", "x"]
)
def test_an_address_of_everybody_or_none_is_not(url: str) -> None:
    assert unreachable(url) is None
