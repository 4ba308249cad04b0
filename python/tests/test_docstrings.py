"""Each public class has a docstring with an example, and the examples run. The stub says what ``help()`` shows."""

from __future__ import annotations

import ast
import doctest
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import stub

import rulec
from rulec import _rulec, choices, flows, models
from rulec.guard import Guard, Verdict

PACKAGE = Path(rulec.__file__).parent
# pytest makes the objects of these classes.
WITHOUT_EXAMPLES = {"pytest_plugin.py"}
NAMES = {**vars(_rulec), **vars(flows), **vars(choices), **vars(rulec), "Guard": Guard, "Verdict": Verdict, "models": models}


# Words that a user of Python need not know.
INTERNAL = re.compile(r"\b(Rust|tokio|serde|PyO3|crate|GIL)\b|\[`|::")


def documented() -> Iterator[tuple[Path, ast.ClassDef | ast.FunctionDef]]:
    """Returns the public classes, and the public functions of the adapters."""
    for path in [*sorted(PACKAGE.glob("[a-z]*.py")), *sorted(PACKAGE.glob("adapters/[a-z]*.py")), stub.STUB]:
        kinds = (ast.ClassDef, ast.FunctionDef) if path.parent.name == "adapters" else ast.ClassDef
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, kinds) and not node.name.startswith("_") and path.name not in WITHOUT_EXAMPLES:
                yield path, node


@pytest.mark.parametrize(("path", "node"), [pytest.param(*found, id=found[1].name) for found in documented()])
def test_the_example_of_a_class(path: Path, node: ast.ClassDef | ast.FunctionDef) -> None:
    names = dict(NAMES)
    if path.parent.name == "adapters":
        pytest.importorskip({"openai_agents": "agents"}.get(path.stem, path.stem))
        names |= vars(importlib.import_module(f"rulec.adapters.{path.stem}"))
    text = ast.get_docstring(node) or ""
    test = doctest.DocTestParser().get_doctest(text, names, node.name, path.name, node.lineno)
    assert test.examples, f"the docstring of `{node.name}` has no example"
    lines: list[str] = []
    doctest.DocTestRunner().run(test, out=lines.append)
    assert not lines, "".join(lines)


def test_each_name_of_the_package_has_an_example() -> None:
    named = {node.name for _, node in documented()}
    assert {name for name in rulec.__all__ if name[0].isupper()} <= named


def test_the_stub_has_the_docstrings_of_the_native_module() -> None:
    text = stub.STUB.read_text()
    assert stub.with_docstrings(text) == text, "write them with `python tests/stub.py`"
    assert stub.with_docstrings(text.replace("Threads may share them", "They are slow")) == text


def test_each_native_name_has_a_docstring_that_needs_no_rust() -> None:
    found = {".".join(path): stub.native_doc(path) for path, _ in stub.documented(ast.parse(stub.STUB.read_text()).body, [])}
    assert len(found) > 400
    assert [name for name, doc in found.items() if not doc] == []
    assert [name for name, doc in found.items() if INTERNAL.search(doc or "")] == []
