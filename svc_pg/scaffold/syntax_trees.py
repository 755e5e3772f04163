"""Names, calls and assignments in the syntax trees of a project."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS: Final = (*_FUNCTIONS, ast.ClassDef)


@dataclass(frozen=True, slots=True)
class Place:
    """The place for lines: after a ``line`` of a file, from a ``column`` on, in a function or in another block.

    ``target`` is the name of the object that the lines are for; None if it has none there. ``is_returned`` if the
    statement returns that object.
    """

    file: Path
    line: int
    target: str | None = None
    within: Literal["function", "block"] | None = None
    column: int = 0
    is_returned: bool = False

    @property
    def module(self) -> str:
        """The module, as the project imports it if its folder is where it runs."""
        return module_of(self.file)


@dataclass(frozen=True, slots=True)
class _Scope:
    target: str | None = None
    is_in_function: bool = False


def module_of(file: Path) -> str:
    """The module of a file, without the folder ``src``: ``shop`` for ``src/shop/__init__.py``."""
    parts = [*file.parent.parts, *([] if file.name == "__init__.py" else [file.stem])]
    return ".".join(parts[1:] if parts[:1] == ["src"] and len(parts) > 1 else parts)


def imported(tree: ast.Module, file: Path | None = None) -> dict[str, str]:
    """The names that imports bind anywhere in the module, each with the whole name that it stands for.

    Relative imports are among them if the file is given.
    """
    names: dict[str, str] = {}
    for node in statements(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                top = each.name.partition(".")[0]
                names |= {each.asname: each.name} if each.asname else {top: top}
        elif isinstance(node, ast.ImportFrom) and (source := _source(node, file)) is not None:
            names |= {each.asname or each.name: f"{source}.{each.name}".lstrip(".") for each in node.names}
    return names


def _source(node: ast.ImportFrom, file: Path | None) -> str | None:
    """The module from which a statement imports; None if it is relative to an unknown one."""
    if not node.level:
        return node.module
    if file is None:
        return None
    parts = module_of(file.parent / "__init__.py").split(".")
    return ".".join([*parts[: len(parts) - node.level + 1], *([node.module] if node.module else [])])


def statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """All statements of the module, those in blocks too; this takes a fraction of the time of all nodes."""
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.stmt):
            yield node
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, name, ())
            waiting += inner if isinstance(inner, list) else ()  # of a lambda it is an expression


def whole_name(node: ast.AST, names: Mapping[str, str]) -> str | None:
    """The whole name of an expression that begins with an imported one; None of any other expression."""
    first, _, rest = (dotted(node) or "").partition(".")
    if first not in names:
        return None
    return f"{names[first]}.{rest}" if rest else names[first]


def dotted(node: ast.AST | None) -> str | None:
    """``app`` or ``flask.Flask``; None of any other expression."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else None


def calls(file: Path, tree: ast.Module, names: Mapping[str, str]) -> Iterator[tuple[str, Place]]:
    """The calls of ``names``, each by the whole name, with the place after its statement."""
    waiting: list[tuple[ast.AST, ast.stmt, _Scope]] = [(each, each, _Scope()) for each in reversed(tree.body)]
    while waiting:
        node, statement, scope = waiting.pop()
        if isinstance(node, ast.Call) and (whole := whole_name(node.func, names)) is not None:
            yield whole, _place(file, node, statement, scope)
        target, values = _bound(node, scope.target)
        inside = scope.is_in_function or isinstance(node, _FUNCTIONS)
        waiting += [
            (
                child,
                child if isinstance(child, ast.stmt) else statement,
                _Scope(target if child in values else None, inside),
            )
            for child in reversed(list(ast.iter_child_nodes(node)))
        ]


def _bound(node: ast.AST, target: str | None) -> tuple[str | None, list[ast.AST]]:
    """The name that a node gives to expressions, and those; ``target`` is the name of the node itself."""
    match node:
        case ast.Assign(targets=targets, value=value):
            return next((name for each in targets if (name := dotted(each))), None), [value]
        case ast.AnnAssign(target=named, value=ast.expr() as value) | ast.NamedExpr(target=named, value=value):
            return dotted(named), [value]
        case ast.withitem(context_expr=value, optional_vars=named):
            return dotted(named), [value]
        case ast.Await(value=value):
            return target, [value]
        case ast.IfExp(body=one, orelse=other):
            return target, [one, other]
        case _:
            return None, []


def _place(file: Path, call: ast.Call, statement: ast.stmt, scope: _Scope) -> Place:
    end = call.end_lineno or call.lineno
    if isinstance(statement, _DEFINITIONS):  # a default, or a decorator, which no line can follow
        return Place(file, end)
    body = getattr(statement, "body", None)
    if body:  # it is in the head of a block: of with, for example
        return Place(file, max(body[0].lineno - 1, end), scope.target, "block", body[0].col_offset)
    is_returned = isinstance(statement, ast.Return) and statement.value is call
    column = statement.col_offset
    within: Literal["function", "block"] | None = "function" if scope.is_in_function else "block" if column else None
    return Place(file, statement.end_lineno or end, scope.target, within, column, is_returned)


def assigned_at(tree: ast.Module, name: str) -> int | None:
    """The last line of the last assignment to a name of the module."""
    found = None
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AugAssign | ast.AnnAssign) else targets
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            found = node.end_lineno
    return found


def is_tuple(tree: ast.Module, name: str) -> bool:
    """True if the module's last assignment to the name is a tuple, to which no list can be added."""
    values = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name) and target.id == name
    ]
    return bool(values) and isinstance(values[-1], ast.Tuple)
