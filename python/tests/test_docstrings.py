"""Each public class has a docstring with an example, and the examples run."""

from __future__ import annotations

import ast
import asyncio
import doctest
from collections.abc import Iterator
from pathlib import Path

import pytest

import rulec
from rulec import _rulec, choices, flows, models
from rulec.guard import Guard, Verdict

PACKAGE = Path(rulec.__file__).parent
# pytest makes the objects of these classes.
WITHOUT_EXAMPLES = {"pytest_plugin.py"}
NAMES = {**vars(_rulec), **vars(flows), **vars(choices), **vars(rulec), "Guard": Guard, "Verdict": Verdict, "models": models, "asyncio": asyncio}


def public_classes() -> Iterator[tuple[str, ast.ClassDef]]:
    for path in [*sorted(PACKAGE.glob("[a-z]*.py")), PACKAGE / "_rulec.pyi"]:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and path.name not in WITHOUT_EXAMPLES:
                yield path.name, node


@pytest.mark.parametrize(("file", "node"), [pytest.param(*found, id=found[1].name) for found in public_classes()])
def test_the_example_of_a_class(file: str, node: ast.ClassDef) -> None:
    text = ast.get_docstring(node) or ""
    test = doctest.DocTestParser().get_doctest(text, dict(NAMES), node.name, file, node.lineno)
    assert test.examples, f"the docstring of `{node.name}` has no example"
    lines: list[str] = []
    doctest.DocTestRunner().run(test, out=lines.append)
    assert not lines, "".join(lines)


def test_each_name_of_the_package_has_an_example() -> None:
    named = {node.name for _, node in public_classes()}
    assert {name for name in rulec.__all__ if name[0].isupper()} <= named
