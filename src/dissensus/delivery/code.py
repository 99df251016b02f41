"""What a delivery is made of, so that runs that were made by other code can be told of."""

from __future__ import annotations

import ast
import hashlib
import inspect
import sys
from collections.abc import Iterator
from functools import cache

_DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@cache  # its file may be edited while the class is in use
def code_of(delivery: type) -> str | None:
    """A digest of the class and of all that it names in its module: constants, functions, other classes.

    Comments, docstrings and layout are no part of it, and other modules are not looked into. None where there is no
    source to be read, as of what was typed into a console.
    """
    try:
        module = ast.parse(inspect.getsource(sys.modules[delivery.__module__]))
    except (KeyError, OSError, TypeError, SyntaxError):
        return None
    for node in ast.walk(module):
        if isinstance(node, _DEFINITIONS) and ast.get_docstring(node) is not None:
            node.body[:1] = [] if len(node.body) > 1 else [ast.Pass()]
    needed: list[ast.stmt] = []
    names = [delivery.__qualname__.partition(".")[0]]
    for name in names:  # which grows
        for statement in module.body:
            if name in _defined(statement) and statement not in needed:
                needed.append(statement)
                names += [node.id for node in ast.walk(statement) if isinstance(node, ast.Name)]
    if not needed:
        return None
    told = "\n".join(ast.unparse(statement) for statement in module.body if statement in needed)
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def _defined(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement gives a meaning to."""
    if isinstance(statement, _DEFINITIONS):
        yield statement.name
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
            yield from (part.id for part in ast.walk(node.value) if isinstance(part, ast.Name))  # RATES["late"] = 2
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
