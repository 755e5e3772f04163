"""Put a software bill of materials into a wheel: what it needs, in CycloneDX, where PEP 770 has its place.

``python -m tests.bill_of_materials WHEEL``, with ``cyclonedx-python-lib[json-validation]`` and ``wheel``, changes the
file in place. Nothing of others is inside our wheel, so the components are the packages that an installer brings.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterator
from email.parser import HeaderParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from cyclonedx.model import Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL
from packaging.requirements import Requirement

OURS: Final = frozenset({"bench", "docs", "lint", "release", "test"})
"""The extras of those who work on the project, which no user installs."""


def bill(metadata: str) -> str:
    """The bill of materials of a distribution, as JSON, of the text of its METADATA.

    Each required or optional package is a component without a version, which an installer chooses. Its properties
    ``python:requirement`` have the versions that are allowed, and under which extra.
    """
    fields = HeaderParser().parsestr(metadata)
    name, version = fields["Name"], fields["Version"]
    root = Component(
        name=name,
        version=version,
        type=ComponentType.LIBRARY,
        bom_ref=name,
        purl=PackageURL("pypi", name=name, version=version),
        licenses=[LicenseExpression(fields["License-Expression"])],
    )
    bom = Bom()
    bom.metadata.component = root
    components: dict[str, Component] = {}
    for requirement in _of_users(map(Requirement, fields.get_all("Requires-Dist") or ())):
        wanted = components.setdefault(requirement.name, _component(requirement.name))
        wanted.properties.add(Property(name="python:requirement", value=str(requirement)))
        if "extra" not in str(requirement.marker):
            wanted.scope = ComponentScope.REQUIRED
    bom.components.update(components.values())
    bom.register_dependency(root, components.values())
    text = JsonV1Dot6(bom).output_as_string(indent=1)
    if (error := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)) is not None:
        raise RuntimeError(f"the bill of materials is not valid: {error}")
    return text


def _of_users(requirements: Iterator[Requirement]) -> Iterator[Requirement]:
    for requirement in requirements:
        if not any(f'extra == "{extra}"' in str(requirement.marker) for extra in OURS):
            yield requirement


def _component(name: str) -> Component:
    return Component(
        name=name,
        type=ComponentType.LIBRARY,
        bom_ref=name,
        purl=PackageURL("pypi", name=name),
        scope=ComponentScope.OPTIONAL,
    )


def add(wheel: Path) -> Path:
    """Write the bill into the wheel; returns its path there."""
    with TemporaryDirectory() as folder:
        _run("unpack", f"--dest={folder}", str(wheel))
        [unpacked] = Path(folder).iterdir()
        [info] = unpacked.glob("*.dist-info")
        path = info / "sboms" / "svc-pg.cdx.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(bill((info / "METADATA").read_text(encoding="utf-8")), encoding="utf-8")
        _run("pack", f"--dest-dir={wheel.parent}", str(unpacked))
        return path.relative_to(unpacked)


def _run(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "wheel", *arguments], check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.bill_of_materials", description="Put a bill into a wheel.")
    parser.add_argument("wheel", type=Path)
    print(add(parser.parse_args().wheel))  # noqa: T201 - what the program is for


if __name__ == "__main__":
    main()
