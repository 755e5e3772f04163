"""The receivers of docs/howto in other languages tell authentic requests from all others."""

import json
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any, Final

import pytest

from svc_pg.webhooks.signing import sign
from svc_pg.webhooks.signing.signing_keys import new_secret
from tests.support.documents import examples

SECRET: Final = new_secret()
DELIVERY: Final = "01980a4e-0000-7000-8000-000000000001"
BODY: Final = '{"type": "order.paid", "data": {"name": "Ärger", "n": 12345678901234567.10}}'

RUN: Final = {
    "js": ("node", "main.mjs", "\n".join([
        'import { readFileSync } from "node:fs";',
        "%s",
        'const { secret, cases } = JSON.parse(readFileSync(0, "utf8"));',
        "console.log(JSON.stringify(cases.map(({ headers, body }) => isAuthentic(secret, headers, body))));",
    ])),
    "ruby": ("ruby", "main.rb", "\n".join([
        'require "json"',
        "%s",
        "question = JSON.parse($stdin.read)",
        'puts question["cases"].map { |each| authentic?(question["secret"], each["headers"], each["body"]) }.to_json',
    ])),
    "php": ("php", "main.php", "\n".join([
        "%s",
        "$question = json_decode(stream_get_contents(STDIN), true);",
        "$ask = fn ($each) => is_authentic($question['secret'], $each['headers'], $each['body']);",
        "echo json_encode(array_map($ask, $question['cases']));",
    ])),
    "python": ("python3", "main.py", "\n".join([
        "import json, sys",
        "%s",
        "question = json.load(sys.stdin)",
        "cases = [(each['headers'], each['body'].encode()) for each in question['cases']]",
        "print(json.dumps([is_authentic(question['secret'], *each) for each in cases]))",
    ])),
    "go": ("go", "main.go", "\n".join([
        "%s",
        "func main() {",
        "\tvar question struct {",
        "\t\tSecret string",
        "\t\tCases []struct { Headers map[string]string; Body string }",
        "\t}",
        "\tjson.NewDecoder(os.Stdin).Decode(&question)",
        "\tanswers := []bool{}",
        "\tfor _, each := range question.Cases {",
        "\t\theader := http.Header{}",
        "\t\tfor name, value := range each.Headers { header.Set(name, value) }",
        "\t\tanswers = append(answers, IsAuthentic(question.Secret, header, []byte(each.Body)))",
        "\t}",
        "\tjson.NewEncoder(os.Stdout).Encode(answers)",
        "}",
    ])),
}  # fmt: skip
SECTIONS: Final = {"js": "Node", "ruby": "Ruby", "php": "PHP", "python": "Python", "go": "Go"}


def cases() -> list[tuple[dict[str, Any], bool]]:
    """Requests, and if they are authentic."""

    def signed(secret: str = SECRET, *, age: int = 0) -> dict[str, str]:
        headers = sign(delivery_id=DELIVERY, timestamp=int(time.time()) - age, body=BODY.encode(), secrets=[secret])
        return {name: value for name, value in headers.items() if name.startswith("webhook-")}

    good = signed()
    signature = good["webhook-signature"]
    return [
        ({"headers": good, "body": BODY}, True),
        ({"headers": good | {"webhook-signature": f"v1,AAAA v1a,AAAA {signature}"}, "body": BODY}, True),
        ({"headers": good, "body": BODY + " "}, False),
        ({"headers": good | {"webhook-id": "other"}, "body": BODY}, False),
        ({"headers": good | {"webhook-timestamp": str(int(good["webhook-timestamp"]) + 1)}, "body": BODY}, False),
        ({"headers": good | {"webhook-timestamp": "soon"}, "body": BODY}, False),
        ({"headers": good | {"webhook-signature": signature.replace("v1,", "v2,")}, "body": BODY}, False),
        ({"headers": good | {"webhook-signature": "v1, , nonsense"}, "body": BODY}, False),
        ({"headers": {}, "body": BODY}, False),
        ({"headers": signed(age=400), "body": BODY}, False),
        ({"headers": signed(age=-400), "body": BODY}, False),
        ({"headers": signed(new_secret()), "body": BODY}, False),
    ]


@pytest.mark.parametrize("language", list(RUN))
def test_a_documented_receiver_tells_authentic_requests_from_all_others(language: str, tmp_path: Path) -> None:
    program, name, frame = RUN[language]
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed")
    [example] = examples("howto/receive-in-other-languages.md", SECTIONS[language], language)
    if language == "go":
        example = example.replace("package webhook", "package main")
        example = example.replace('"encoding/base64"', '"encoding/base64"\n"encoding/json"\n"os"')
    (tmp_path / name).write_text(frame.replace("%s", example), encoding="utf-8")
    questions, answers = zip(*cases(), strict=True)
    done = subprocess.run(
        [program, *(["run"] if language == "go" else []), name],
        input=json.dumps({"secret": SECRET, "cases": questions}),
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == list(answers)
