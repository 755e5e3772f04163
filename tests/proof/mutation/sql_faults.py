"""The faults of SQL and of its templates: broken conditions, comparisons and constants, and calls left out.

Comments, texts, tags of templates and indexes stay as they are.
"""

import re
from collections.abc import Iterator
from typing import Final

from tests.proof.mutation.mutants import Mutant

_TOKEN: Final = re.compile(
    r"""(?P<left_out> --[^\n]* | /\*.*?\*/ | \{\#.*?\#\} | \{%.*?%\} | \{\{.*?\}\} | \{\w+\} | '(?:[^']|'')*' | "[^"]*"
      | create\s(?:unique\s)?index[^;]* | comment\son[^;]* | \[[^\]]*\] | \$\w*\$ | \((?:\d+,\s*)?\d+\))
    | (?P<fault> perform\s[^;\n]*; | is\snot\sdistinct\sfrom | is\sdistinct\sfrom | is\snot\snull | is\snull
      | \bnot\sexists\b | \bnot\b(?!\s(?:null|valid|materialized|exists|deferrable|in\b|like\b|between\b))
      | (?<=\s)(?:<=|>=|<>|<|>|=)(?=\s)
      | \b(?:and|or|least|greatest|min|max|desc|true|false)\b | (?<![\w.$:])\d+(?![\w.]))
    | (?P<word> \w+ )""",
    re.DOTALL | re.VERBOSE,
)
_TURNED: Final = {
    "=": "<>",
    "<>": "=",
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "and": "or",
    "or": "and",
    "least": "greatest",
    "greatest": "least",
    "min": "max",
    "max": "min",
    "desc": "asc",
    "true": "false",
    "false": "true",
    "not": "",
    "not exists": "exists",
    "is null": "is not null",
    "is not null": "is null",
    "is distinct from": "=",
    "is not distinct from": "<>",
}
_BEGIN_CONDITIONS: Final = frozenset({"where", "on", "if", "elsif", "elseif", "when", "having", "while", "filter"})
_END_CONDITIONS: Final = frozenset(
    {"set", "select", "values", "then", "else", "update", "insert", "declare", "begin", "from", "language", "table"}
)


def faults(file: str, source: bytes) -> Iterator[Mutant]:
    """The mutants of a file, from its begin to its end."""
    text = source.decode()
    is_condition = False
    before = ""
    for found in _TOKEN.finditer(text):
        token = found[0]
        if found["word"]:
            word = token.lower()
            is_condition = (is_condition or word in _BEGIN_CONDITIONS) and word not in _END_CONDITIONS
        elif found["fault"] and (after := _fault(token, before, is_condition=is_condition)) is not None:
            start = len(text[: found.start()].encode())
            line = text.count("\n", 0, found.start()) + 1
            yield Mutant(file, line, start, start + len(token.encode()), token, after, _around(text, found))
        before = token.lower() if not found["left_out"] else before


def _fault(token: str, before: str, *, is_condition: bool) -> str | None:
    """The text in place of a token; None if the token is no place for a fault."""
    if token.startswith("perform"):
        return "null;"
    if token.isdigit():
        return None if before in {"errcode", "fillfactor"} else str(int(token) + 1)
    if token in {"=", "<>", "<", ">", "<=", ">=", "and", "or"} and not is_condition:
        return None
    if token == "or" and before == "create":
        return None
    if token in {"not", "not exists"} and before == "if" and not is_condition:
        return None
    return _TURNED[" ".join(token.split())]


def _around(text: str, found: re.Match[str]) -> str:
    """The token between its neighbours, by which a reader finds it."""
    first = max(text.rfind("\n", 0, found.start()) + 1, found.start() - 30)
    last = text.find("\n", found.end())
    return text[first : min(last if last >= 0 else len(text), found.end() + 30)].strip()
