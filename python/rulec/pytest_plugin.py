"""Runs the ``test`` blocks of rules as tests of pytest.

``pytest support.rules`` runs the tests of a file, and ``pytest --rulec`` the tests of all ``*.rules`` files
that pytest finds. ``rulec = true`` below ``[tool.pytest.ini_options]`` does the same. Each expectation
is one test, which ``-k`` selects by its name. Rules that do not compile are an error of collection.
"""

# The factories of pytest take arguments of any name.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds ``--rulec`` and the setting ``rulec``."""
    help_text = "run the `test` blocks of *.rules files"
    parser.getgroup("rulec").addoption("--rulec", action="store_true", default=False, help=help_text)
    parser.addini("rulec", help_text, type="bool", default=False)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> RulesFile | None:
    """Collects a file of rules if the options or the arguments of pytest ask for it."""
    if file_path.suffix != ".rules":
        return None
    wanted = parent.config.getoption("--rulec") or parent.config.getini("rulec") or parent.session.isinitpath(file_path)
    return RulesFile.from_parent(parent, path=file_path) if wanted else None


class RulesFile(pytest.File):
    """A file of rules. Collecting it runs its ``test`` blocks, and the items report the results."""

    def collect(self) -> Iterable[RulesItem]:
        """Yields the tests in the order of the file."""
        root = self.config.rootpath
        command = [sys.executable, "-m", "rulec", "--color", "never", "test", "--format", "json", str(self.path)]
        if self.path.is_relative_to(root):
            command += ["--root", str(root)]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
        if done.returncode != 0 and not done.stdout:
            raise self.CollectError(done.stderr)
        for line in done.stdout.splitlines():
            result = json.loads(line)
            yield RulesItem.from_parent(self, name=result["name"], result=result)


class Unexpected(Exception):
    """A test of the rules whose expectation does not hold."""


class RulesItem(pytest.Item):
    """One expectation of a ``test`` block, with its result as ``rulec test --format json`` prints it."""

    def __init__(self, *, result: dict[str, Any], **options: Any) -> None:
        super().__init__(**options)
        self._result = result

    def runtest(self) -> None:
        """Raises the failure, if the test failed."""
        result = self._result
        if not result["passed"]:
            where = f"{result['file']}:{result['line']}"
            raise Unexpected(f"{where}: expected {result['expected']}, got {result['actual']}\n{result['explanation'] or ''}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Returns the text of ``rulec test`` instead of a traceback."""
        return str(excinfo.value) if isinstance(excinfo.value, Unexpected) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Returns the place of the test, with a line that counts from 0."""
        return self.path, self._result["line"] - 1, self.name
