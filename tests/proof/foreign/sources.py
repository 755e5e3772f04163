"""The sources of foreign suites, and the packages that they need, kept in a cache folder."""

import subprocess
import sys
import tarfile
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.matrix import cache_folder
from tests.proof.foreign.suites import Suite

_CONFIG: Final = '[[audit.tables]]\nname = "*"\n'
_SETTINGS: Final = """

INSTALLED_APPS = [*INSTALLED_APPS, "svc_pg.integrations.django"]
SVC_CONFIG = "svc-pg.toml"
"""


def unpacked(suite: Suite, folder: Path, *, is_captured: bool) -> Path:
    """Unpack a suite's source distribution; an application of Django is changed as the documentation says."""
    with tarfile.open(_archive(suite)) as packed:
        packed.extractall(folder, filter="data")
    [source] = [each for each in folder.iterdir() if each.is_dir()]
    if suite.settings is not None:
        with (source / suite.settings).open("a", encoding="utf-8") as settings:
            settings.write(suite.more_settings + (_SETTINGS if is_captured else ""))
        (source / "svc-pg.toml").write_text(_CONFIG, encoding="utf-8")
    return source


def tools(suite: Suite) -> Path:
    """The folder with the suite's tools, installed unless it is there. The rest is what this program is run with."""
    digest = sha256(" ".join([sys.version, *suite.tools]).encode()).hexdigest()[:12]
    kept = _folder() / f"tools-{digest}"
    if not kept.is_dir():
        with TemporaryDirectory(prefix=".fetching-", dir=_folder()) as name:
            made = Path(name, "tools")
            made.mkdir()
            if suite.tools:
                _pip("install", "--no-deps", "--target", str(made), *suite.tools)
            made.rename(kept)
    return kept


def _archive(suite: Suite) -> Path:
    """The source distribution of its release, downloaded unless it is there."""
    project, _, release = suite.release.partition("==")
    name = f"{project.replace('-', '_')}-{release}.tar.gz"
    kept = _folder() / name
    if not kept.exists():
        with TemporaryDirectory(prefix=".fetching-", dir=_folder()) as fetched:
            _pip("download", "--no-deps", "--no-binary", project, "--dest", fetched, suite.release)
            Path(fetched, name).rename(kept)
    return kept


def _folder() -> Path:
    folder = cache_folder() / "foreign"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _pip(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "pip", "--quiet", *arguments], check=True, stdout=sys.stderr)
