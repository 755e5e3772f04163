"""The tests that reach a line: noted once, with coverage.py, and kept in a cache folder.

A test file is run again if it has changed. The lines of a file that has changed since are
reached by all tests that reach the file.
"""

import json
import re
import sqlite3
import sys
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from coverage import CoverageData

from tests.matrix import cache_folder
from tests.proof.mutation.copies import Copy, copied, project_files
from tests.proof.mutation.mutants import Mutant, room_of
from tests.proof.mutation.syntax import is_in_a_function, lines_using, module_name, named_tests
from tests.proof.runs import ROOT

_TRACED: Final = ("tests/unit/", "tests/integration/")
_COMPARES_TEXT: Final = re.compile(
    r"/test_(rendered_\w+|schema_dump|sql_api|trips|client_source|documented_figures|sql_style)\.py"
)
"""Tests that notice each change of a text, and not that it is wrong."""
_NAME: Final = re.compile(r"\w+(?:/\w+)+\.sql(?:\.j2)?|\w+")
_SECONDS_BEFORE: Final = 300  # of a test that is traced
_WHOLE_FILES: Final = 3  # of the tests that reach a line: their slow tests are not traced
_LINES_OF_TESTS: Final = "select c.context, l.numbits from line_bits l join context c on c.id = l.context_id"
_MORE_WORDS: Final = {"svc_pg/scaffold": ["init"]}
"""Words in the names of a room's tests, if they are not those of its modules."""
_STARTING: Final = 5  # seconds for which a test runs beside its own
_NEARER: Final = 10  # times as much counts a test of a file that imports the module
_MOST_UNTRACED: Final = 3  # test files that import the module and are newer than what is kept
_FARTHER: Final = 10  # times as much counts a test that names a file as one that names what includes or calls it
_DEPTH: Final = 3  # files of SQL between a statement and what it calls


class Reach:
    """Answers which tests reach a mutant, the most special ones first."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._kept: dict[str, Any] = _read(folder / "reach.json") or {"sources": {}, "tests": {}, "passed": {}}
        self._lines = CoverageData(str(folder / "lines"))
        self._texts = {name: text for name in project_files() if (text := _text(name)) is not None}
        self._test_files = [name for name in self._texts if _is_test(name)]
        self._lines_of: dict[str, dict[int, list[str]]] = {}
        self._size_of: Counter[str] = Counter()
        self._seconds: dict[str, float] = defaultdict(float)
        self._names: dict[str, dict[str, int]] = defaultdict(dict)
        self._found: dict[str, list[str]] = {}
        if (folder / "lines").exists():
            self._lines.read()

    def renew(self, processes: int) -> None:
        """Run the test files that have changed since they were traced, and keep what each folder of them reaches."""
        digests = {name: _digest(name) for name in self._test_files if name.startswith(_TRACED)}
        changed = [name for name, digest in digests.items() if self._kept["tests"].get(name) != digest]
        for room, names in groupby(changed, key=lambda name: name.rpartition("/")[0]):
            files = list(names)
            sys.stderr.write(f"tracing {len(files)} files of {room}\n")
            with copied() as copy, TemporaryDirectory(prefix="svc-pg-") as noted:
                _trace(copy, files, Path(noted), processes)
                self.take(copy.folder, Path(noted), files)

    def take(self, folder: Path, noted: Path, files: Sequence[str]) -> None:
        """Keep what a run in the folder has noted of these test files."""
        self._lines_of.clear()
        for each in sorted(noted.glob("lines.*")):
            traced = CoverageData(str(each))
            traced.read()
            self._lines.update(traced, map_path=lambda path: str(Path(path).relative_to(folder)))
        self._lines.write()
        for each in sorted(noted.glob("outcomes.*")):
            outcomes = _read(each) or {}
            self._kept["passed"] |= {
                _test(name): seconds for name, (outcome, seconds) in outcomes.items() if outcome == "passed"
            }
        self._kept["tests"] |= {name: _digest(name) for name in files}
        for name in self._texts:
            if name.endswith(".py") and not _is_test(name):
                self._kept["sources"].setdefault(name, _digest(name))
        (self._folder / "reach.json").write_text(json.dumps(self._kept), encoding="utf-8")

    def tests(self, mutant: Mutant) -> list[str]:
        """The names of tests, without those that failed as they were."""
        if mutant.file.endswith(".py"):
            found = self._of_python(mutant)
        elif (known := self._found.get(mutant.file)) is not None:
            found = known
        else:
            found = self._found[mutant.file] = self._of_sql(mutant.file)
        return [test for test in found if not _COMPARES_TEXT.search(test)]

    def _of_python(self, mutant: Mutant) -> list[str]:
        lines = self._by_line(mutant.file)
        is_as_it_was = self._kept["sources"].get(mutant.file) == _digest(mutant.file)
        is_called = is_as_it_was and is_in_a_function(self._texts[mutant.file], mutant.line)
        direct = lines.get(mutant.line, []) if is_called else []  # other lines run in the test that imports the module
        anywhere = Counter(test for tests in lines.values() for test in tests)
        near = self._importers(mutant.file)
        untraced = [name for name in near if self._kept["tests"].get(name) != _digest(name)][:_MOST_UNTRACED]
        if direct:
            found = self._ordered({test: anywhere[test] for test in direct}, near)
            return [*untraced, *found, *list(dict.fromkeys(map(_file, found)))[:_WHOLE_FILES]]
        return [*untraced, *self._ordered(anywhere, near), *near, *self._by_words(mutant.file)]

    def _importers(self, file: str) -> list[str]:
        """The test files that import a module itself, unit tests first."""
        package, _, name = module_name(file).rpartition(".")
        imports = re.compile(rf"\b{re.escape(package)}(?:\.{name}\b(?!\.)| import [^\n]*\b{name}\b)")
        found = (each for each in self._test_files if each.startswith(_TRACED) and imports.search(self._texts[each]))
        return sorted(found, key=lambda each: (not each.startswith("tests/unit/"), each))

    def _by_line(self, file: str) -> dict[int, list[str]]:
        if file not in self._lines_of:
            found = self._lines.contexts_by_lineno(file)
            self._lines_of[file] = {
                line: sorted({_test(each) for each in tests if each}) for line, tests in found.items()
            }
        return self._lines_of[file]

    def _ordered(self, scores: Mapping[str, int], near: Collection[str] = ()) -> list[str]:
        """The tests by file, those first that reach little beside the lines that have a score, and those near by."""
        passed, sizes = self._kept["passed"], self._sizes()
        worth = {
            test: score / sizes[test] / (_STARTING + passed[test]) * (_NEARER if _file(test) in near else 1)
            for test, score in scores.items()
            if test in passed
        }
        of_file: dict[str, float] = defaultdict(float)
        for test, value in worth.items():
            of_file[_file(test)] = max(of_file[_file(test)], value)
        return sorted(worth, key=lambda test: (-of_file[_file(test)], _file(test), -worth[test], test))

    def _sizes(self) -> Counter[str]:
        """The number of lines that each test reaches."""
        if not self._size_of:
            with sqlite3.connect(self._lines.data_filename()) as conn:
                for context, lines in conn.execute(_LINES_OF_TESTS):
                    self._size_of[_test(context)] += int.from_bytes(lines).bit_count()
            conn.close()
        return self._size_of

    def _by_words(self, file: str) -> list[str]:
        """Tests whose names have words of the file's name, then those of the room whose texts have them."""
        words = [word for word in Path(file).name.partition(".")[0].split("_") if word]
        words += _MORE_WORDS.get(room_of(file), [])
        room = room_of(file).rpartition("/")[2]
        scores = {}
        for name in self._test_files:
            named = sum(word in Path(name).stem for word in words)
            is_of_room = room in Path(name).parts
            if named or is_of_room:
                text = self._texts[name]
                scores[name] = 1000 * named + 500 * is_of_room + sum(text.count(word) for word in words)
        return sorted(scores, key=lambda name: (-scores[name], name))

    def _of_sql(self, file: str) -> list[str]:
        """Tests that name the object, their files, those that reach Python that does, then those of the room."""
        direct: dict[str, float] = defaultdict(float)
        named, begun, callers = {file}, {file}, dict[str, str]()
        for depth in range(_DEPTH):
            naming = [(each, name, hits) for each in sorted(begun) for name, hits in self._naming(each).items()]
            begun = {name for _, name, _ in naming if name.startswith("sql/")} - named
            named |= begun
            for each, name, hits in naming:
                if _is_test(name):
                    direct[name] += hits / _FARTHER**depth / (_STARTING + self._seconds_of(name))
                elif name.endswith(".py") and not name.startswith("tests/"):
                    callers.setdefault(name, _key(each))
        reached = Counter(
            test for name, key in callers.items() for tests in self._of_users(name, key) for test in tests
        )
        by_name = sorted(direct, key=lambda name: (not name.startswith(_TRACED), -direct[name], name))
        first = [test for name in by_name for test in named_tests(_key(file), name, self._texts[name])]
        kin = self._with_words_of(file, {*by_name, *map(_file, reached)})
        return list(dict.fromkeys([*first, *kin, *by_name, *self._ordered(reached), *self._by_words(file)]))

    def _with_words_of(self, file: str, test_files: Iterable[str]) -> list[str]:
        """Those of the test files whose names share words with that of a file of SQL, beside the name of its room."""
        words = _words(file) - {room_of(file).rpartition("/")[2].removesuffix("s")}
        shared = {name: len(words & _words(name)) for name in test_files}
        return sorted(filter(shared.get, shared), key=lambda name: (-shared[name], self._seconds_of(name), name))

    def _of_users(self, module: str, key: str) -> Collection[Sequence[str]]:
        """The tests of each line of a module that uses a file of SQL; of all its lines, if it does so elsewhere."""
        lines = self._by_line(module)
        found = [lines[line] for line in lines_using(key, self._texts[module]) if lines.get(line)]
        return found or lines.values()

    def _seconds_of(self, test_file: str) -> float:
        """The seconds of all its tests together."""
        if not self._seconds:
            for test, seconds in self._kept["passed"].items():
                self._seconds[_file(test)] += seconds
        return self._seconds[test_file]

    def _naming(self, file: str) -> Mapping[str, int]:
        """The files that name a file of SQL, and how often."""
        if not self._names:
            keys = {_key(name) for name in self._texts if name.startswith("sql/")}
            for name, text in self._texts.items():
                for key, hits in Counter(each for each in _NAME.findall(text) if each in keys).items():
                    if key != _key(name):
                        self._names[key][name] = hits
        return self._names[_key(file)]


def _trace(copy: Copy, files: Sequence[str], noted: Path, processes: int) -> None:
    environment = copy.environment(MUTATION_NOTED=str(noted))
    options = ("--quick", "-n", str(processes), f"--timeout={_SECONDS_BEFORE}", "-W", "ignore")
    log = noted / "log"
    code = copy.run(files, options, environment, log)
    if code not in (0, 1):
        raise RuntimeError(f"pytest ended with {code}:\n{log.read_text(encoding='utf-8')}")


def kept_folder() -> Path:
    """The folder that keeps what was noted."""
    folder = cache_folder() / "mutation"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _read(file: Path) -> dict[str, Any] | None:
    if not file.exists():
        return None
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def _text(name: str) -> str | None:
    if not name.startswith(("svc_pg/", "cli/", "sql/", "tests/")) or not name.endswith((".py", ".sql", ".j2")):
        return None
    return (ROOT / name).read_text(encoding="utf-8")


def _digest(name: str) -> str:
    return sha256((ROOT / name).read_bytes()).hexdigest()[:16]


def _is_test(name: str) -> bool:
    return name.startswith("tests/") and Path(name).name.startswith("test_") and not _COMPARES_TEXT.search(f"/{name}")


def _test(name: str) -> str:
    """The name of a test without its case."""
    return name.partition("[")[0]


def _file(test: str) -> str:
    return test.partition("::")[0]


def _words(file: str) -> set[str]:
    return {*Path(file).name.partition(".")[0].split("_")}


def _key(file: str) -> str:
    """The word by which others name a file of SQL: that of its object if it has one of its own, else its path."""
    inner = file.removeprefix("sql/")
    has_object = inner.startswith(("audit/", "console/", "log/", "views/", "webhooks/"))
    return Path(file).name.partition(".")[0] if has_object else inner


def unknown_rooms(rooms: Iterable[str]) -> list[str]:
    """Those of the rooms that the project does not have."""
    known = {room_of(name) for name in project_files() if name.startswith(("svc_pg/", "cli/", "sql/"))}
    return [room for room in rooms if room not in known]
