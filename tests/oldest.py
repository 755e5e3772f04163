"""The oldest versions of packages that pyproject.toml promises, as constraints for pip.

    python -m tests.oldest >oldest.txt
    pip install -e . $(python -m tests.oldest --tests) -c oldest.txt

With ``--tests`` instead what the tests need beside them, but for packages that need newer ones than we do.
"""

import re
import sys
import tomllib
from pathlib import Path
from typing import Final

NEWER: Final = {"schemathesis", "grafana-foundation-sdk", "rfc3161-client"}
_PROJECT: Final = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text(encoding="utf-8"))[
    "project"
]
_REQUIREMENT: Final = re.compile(r"(?P<name>[\w-]+)(?:\[\w+\])?>=(?P<version>[\d.]+)")


def constraints() -> list[str]:
    """Each package that svc-pg depends on, in its oldest version."""
    found = [_REQUIREMENT.fullmatch(each) for each in _PROJECT["dependencies"]]
    return [f"{each['name']}=={each['version']}" for each in found if each]


def requirements() -> list[str]:
    """The packages of the extra ``test`` that can be installed beside the oldest ones."""
    return [
        each.split(";")[0].strip() for each in _PROJECT["optional-dependencies"]["test"] if _name(each) not in NEWER
    ]


def _name(requirement: str) -> str:
    return re.split(r"[\[>=; ]", requirement)[0]


if __name__ == "__main__":
    sys.stdout.write("\n".join(requirements() if sys.argv[1:] == ["--tests"] else constraints()) + "\n")
