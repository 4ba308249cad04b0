"""Writes the docstrings of the native module into its stub: ``python tests/stub.py``.

The comments of the sources in Rust are the docstrings of the native module, which ``help()`` shows. Editors and type
checkers read the stub, so it has the same docstrings.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Union

STUB = Path(__file__).parents[1] / "rulec" / "_rulec.pyi"
Documented = Union[ast.ClassDef, ast.FunctionDef]


def native_doc(path: list[str]) -> str | None:
    """Returns the docstring that the native module has for a class, a function, a method or a property."""
    value: Any = importlib.import_module("rulec._rulec")
    for name in path:
        value = inspect.getattr_static(value, name)
    doc = getattr(value.__func__ if isinstance(value, staticmethod) else value, "__doc__", None)
    return inspect.cleandoc(doc) if doc else None


def documented(body: list[ast.stmt], path: list[str]) -> Iterator[tuple[list[str], Documented]]:
    """Returns the public classes, functions, methods and properties of a stub, and their names."""
    for node in body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and (node.name == "__call__" or not node.name.startswith("_")):
            yield [*path, node.name], node
            if isinstance(node, ast.ClassDef):
                yield from documented(node.body, [node.name])


def literal(doc: str, indent: str) -> list[str]:
    """Returns a docstring as the lines of a stub."""
    lines = textwrap.indent(doc.replace("\\", "\\\\"), indent).splitlines()
    lines[0] = f'{indent}"""{lines[0].strip()}'
    return [lines[0] + '"""'] if len(lines) == 1 else [*lines, f'{indent}"""']


def with_docstrings(stub: str) -> str:
    """Returns the text of a stub with the docstrings of the native module."""
    lines = stub.splitlines()
    nodes = list(documented(ast.parse(stub).body, []))
    for path, node in sorted(nodes, key=lambda found: found[1].body[0].lineno, reverse=True):
        doc, first = native_doc(path), node.body[0]
        indent = " " * (node.col_offset + 4)
        new = literal(doc, indent) if doc else []
        assert first.end_lineno is not None
        old = slice(first.lineno - 1, first.end_lineno)
        if ast.get_docstring(node) is not None:
            lines[old] = new
        elif new and lines[first.lineno - 1].endswith(" ..."):
            lines[old] = [lines[first.lineno - 1].removesuffix(" ..."), *new]
        elif new:
            lines[old] = [*new, *lines[old]]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    STUB.write_text(with_docstrings(STUB.read_text()))
