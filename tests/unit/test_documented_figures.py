"""Every table of figures in the documentation comes from a saved run."""

import json
import os
import re
from pathlib import Path
from typing import Final

from tests.benchmarks.saved import FOLDER
from tests.benchmarks.tables.fill import TABLES, fill, shown
from tests.support.documents import DOCUMENTS, ROOT

UPDATE: Final = "SVC_TEST_UPDATE_SNAPSHOTS"
MOST_BYTES: Final = 20_000


def test_each_table_says_what_its_run_found() -> None:
    names = []
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        names += shown(text)
        filled = fill(text)
        if os.environ.get(UPDATE):
            document.write_text(filled, encoding="utf-8")
        else:
            assert text == filled, f"read the difference, then run with {UPDATE}=1"
    assert sorted(names) == sorted(TABLES), "each table stands on one page"


def test_a_run_can_be_repeated_anywhere() -> None:
    files = sorted(FOLDER.iterdir())
    assert files
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert len(text.encode()) < MOST_BYTES, file.name
        found = json.loads(text)
        assert found["command"].split()[:2] == ["python", "-m"]
        module = found["command"].split()[2].replace(".", "/")
        assert any(Path(ROOT, end).is_file() for end in (f"{module}.py", f"{module}/__main__.py")), found["command"]
        assert re.search(r"/(home|root|tmp|work|usr)/", text) is None, file.name
        assert {"date", "cores", "versions", "figures"} < found.keys()
