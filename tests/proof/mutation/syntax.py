"""Read from a module what it imports, names and uses, without running it."""

import ast
import re


def is_in_a_function(source: str, line: int) -> bool:
    """True if the line runs when a function is called, not when its module is imported."""
    functions = (
        each for each in ast.walk(ast.parse(source)) if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    return any(each.body[0].lineno <= line <= (each.end_lineno or 0) for each in functions)


def named_tests(word: str, file: str, source: str) -> list[str]:
    """The tests of a file whose own text has a word, such as the name of an object."""
    lines = source.splitlines()
    has = re.compile(rf"\b{re.escape(word)}\b")
    return [
        f"{file}::{each.name}"
        for each in ast.parse(source).body
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and each.name.startswith("test_")
        if has.search("\n".join(lines[each.lineno - 1 : each.end_lineno]))
    ]


def lines_using(word: str, source: str) -> set[int]:
    """The lines of a module with a text that has the word, or a name that the module gives to what it makes of it."""
    names: set[str] = set()

    def uses(node: ast.AST) -> bool:
        match node:
            case ast.Constant(value=str(text)):
                return word in text
            case ast.Name(id=name):
                return name in names
        return False

    tree = ast.parse(source)
    for each in tree.body:
        if isinstance(each, ast.Assign | ast.AnnAssign) and any(map(uses, ast.walk(each))):
            targets = each.targets if isinstance(each, ast.Assign) else [each.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return {node.lineno for node in ast.walk(tree) if isinstance(node, ast.expr) and uses(node)}


def module_name(file: str) -> str:
    """The dotted name of a module; commands are imported from svc_pg.cli."""
    name = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return f"svc_pg.{name}" if name.startswith("cli") else name
