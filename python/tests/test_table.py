"""The page `docs/python-table.md` names each public item of three crates, its Python name and its test.

All items of the runtime and HTTP crates are there. Of the library, the types that do the work and their methods are there.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CRATES = ("rulec", "rulec_runtime", "rulec_http")
# The types of the library that do the work. Its other types are plain data.
WORKING = {
    "Classifier", "Compiler", "Condition", "Decision", "Edit", "Entry", "Explanation", "FlowMatcher", "Judge", "JudgeByField",
    "Judgement", "LiveRules", "Question", "Rules", "Session",
}  # fmt: skip
WITHOUT_A_TEST = re.compile(r"^not (offered|needed)\b")


def table() -> list[tuple[str, str, str]]:
    lines = (ROOT / "docs" / "python-table.md").read_text().splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| `rulec")]
    return [(rust.strip("`"), python, test) for rust, python, test in cells]


def public_items() -> list[str]:
    items = []
    for line in (ROOT / "docs" / "public.txt").read_text().splitlines():
        name, _, kind = line.partition(" ")
        crate, *rest = parts = name.split("::")
        # The text of an exception is the message.
        if crate not in CRATES or kind == "mod" or rest[-1] == "to_message":
            continue
        if crate != "rulec" or WORKING & set(parts[-2:]):
            items.append(name)
    return items


def test_the_table_has_each_public_item() -> None:
    assert [rust for rust, _, _ in table()] == public_items()


def test_each_python_name_exists() -> None:
    found = 0
    for rust, python, _ in table():
        if not re.fullmatch(r"`rulec(\.\w+)+`", python):
            continue
        parts = python.strip("`").split(".")
        at = next(at for at in range(len(parts), 0, -1) if _is_module(".".join(parts[:at])))
        value: Any = importlib.import_module(".".join(parts[:at]))
        for part in parts[at:]:
            assert hasattr(value, part), f"{rust}: there is no {python}"
            value = getattr(value, part)
        found += 1
    assert found > 350


def _is_module(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


def test_each_test_exists() -> None:
    for rust, python, test in table():
        if WITHOUT_A_TEST.match(python):
            assert test == "–", rust
            continue
        file, _, function = test.partition("::")
        assert f"def {function}(" in (ROOT / "python" / "tests" / file).read_text(), f"{rust}: there is no {test}"
