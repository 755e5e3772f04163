"""The faults of a Python file: broken conditions, comparisons, constants, returns, and statements left out.

Texts stay as they are, and so do logging, docstrings, annotations and what an error says: no test should notice these.
"""

import ast
from collections.abc import Iterator
from typing import Final

from tests.proof.mutation.mutants import Mutant

_COMPARISONS: Final[dict[type[ast.cmpop], tuple[str, ...]]] = {
    ast.Eq: ("!=",),
    ast.NotEq: ("==",),
    ast.Lt: ("<=", ">="),
    ast.LtE: ("<", ">"),
    ast.Gt: (">=", "<="),
    ast.GtE: (">", "<"),
    ast.Is: ("is not",),
    ast.IsNot: ("is",),
    ast.In: ("not in",),
    ast.NotIn: ("in",),
}
_UNTOUCHED_CALLS: Final = frozenset({"assert_never", "cast", "TypeVar", "warn", "debug", "info", "warning", "error"})
_UNTOUCHED_CALLS_OF: Final = frozenset({"_log", "log", "logger", "logging"})
_SMALL: Final = 10


def faults(file: str, source: bytes) -> Iterator[Mutant]:
    """The mutants of a file, in the order of its syntax tree."""
    lines = [0]
    for line in source.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    for node, after in _replacements(ast.parse(source)):
        start = lines[node.lineno - 1] + node.col_offset
        end = lines[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        yield Mutant(file, node.lineno, start, end, source[start:end].decode(), after)


def _replacements(tree: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """The nodes that are replaced, each with the text in its place."""
    for node in _visited(tree):
        match node:
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                for turned in _COMPARISONS[type(operator)]:
                    yield node, f"{_text(left)} {turned} {_text(right)}"
            case ast.BoolOp(op=operator, values=values):
                word = " or " if isinstance(operator, ast.And) else " and "
                yield node, "(" + word.join(_text(value) for value in values) + ")"
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield node, _text(operand)
            case ast.If(test=test) | ast.IfExp(test=test):
                if not isinstance(test, ast.NamedExpr) and "TYPE_CHECKING" not in ast.unparse(test):
                    yield test, f"(False and {_text(test)})"
                    yield test, f"(True or {_text(test)})"
            case ast.comprehension(ifs=[condition]):
                if not isinstance(condition, ast.NamedExpr):
                    yield condition, f"(True or {_text(condition)})"
            case ast.Constant(value=bool(value)):
                yield node, str(not value)
            case ast.Constant(value=int(value)):
                yield node, str(value + 1 if value <= _SMALL else value * 2)
            case ast.Constant(value=float(value)):
                yield node, str(value * 3 + 1)
            case ast.Return(value=ast.expr() as value):
                if not isinstance(value, ast.Constant | ast.Yield | ast.YieldFrom):
                    yield node, "return None"
            case ast.Expr(value=ast.Call() | ast.Await()) | ast.AugAssign() | ast.Raise(exc=ast.expr()):
                yield node, "pass"
            case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
                yield node, "pass"
            case ast.Continue():
                yield node, "break"


def _text(node: ast.expr) -> str:
    return f"({ast.unparse(node)})" if not isinstance(node, ast.Name | ast.Constant | ast.Call) else ast.unparse(node)


def _visited(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below a node, without those that stay as they are."""
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "type_params"}:
            continue
        for each in value if isinstance(value, list) else [value]:
            if not isinstance(each, ast.AST) or isinstance(each, ast.JoinedStr) or _stays(each):
                continue
            yield each
            if not isinstance(each, ast.Raise):  # what an error says
                yield from _visited(each)


def _stays(node: ast.AST) -> bool:
    match node:
        case ast.Expr(value=ast.Call() as call) | (ast.Call() as call):
            pass
        case _:
            return False
    match call.func:
        case ast.Attribute(value=ast.Name(id=owner)) if owner in _UNTOUCHED_CALLS_OF:
            return True
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in _UNTOUCHED_CALLS
    return False
