"""The extension of IPython, in a shell of IPython."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from rulec import Rules

RULES = """
input { text: string  user?: { phone?: string @private, name?: string } }
route a when user.phone starts_with "555" and user.name == "<b>Ann</b>" -> h(note: user.name ?? "")
payload refund rank 1 { amount: number in 0..=5 }
"""


@pytest.fixture
def shell() -> Iterator[Any]:
    pytest.importorskip("IPython")
    from IPython.core.interactiveshell import InteractiveShell

    shell: Any = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "rulec")
    yield shell
    shell.run_line_magic("unload_ext", "rulec")
    InteractiveShell.clear_instance()


def html(shell: Any, value: Any) -> str:
    data, _ = shell.display_formatter.format(value)
    return str(data.get("text/html", ""))


def test_values_are_shown_and_escaped(shell: Any) -> None:
    rules = Rules.from_text(RULES)
    message = {"text": "x", "user": {"phone": "555-1234", "name": "<b>Ann</b>"}}
    shown = html(shell, rules.decide(message))
    assert "<th>chosen</th><td>a</td>" in shown and "&lt;b&gt;Ann" in shown and "<b>" not in shown
    shown = html(shell, rules.explain(message))
    assert "555-1234" not in shown and "&lt;b&gt;Ann" in shown and "<b>" not in shown and "<details>" in shown
    shown = html(shell, rules)
    assert "<th>handlers</th><td>h</td>" in shown and "refund" in shown
    assert "<th>outcome</th><td>reject</td>" in html(shell, rules.judge("refund").judge({"amount": 9}))
    warned = Rules.from_text('route a when text contains "<i>" -> h\nroute b when text contains "<i>" -> h')
    assert len(warned.warnings) == html(shell, warned).count("<pre>") and "<i>" not in html(shell, warned)


def test_a_cell_of_rules(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    done = shell.run_cell("%%rules desk\nroute big when n > 9 -> many\ndefault -> few\n")
    assert done.success and shell.user_ns["desk"].decide({"n": 10}).target == "many"
    assert shell.run_cell("functions = {'score': len}").success
    text = "extern fn score(text: string) -> int\nroute long when score(text) > 2 -> essay\n"
    assert shell.run_cell(f"%%rules scored functions\n{text}").success
    assert shell.user_ns["scored"].decide({"text": "abc"}).target == "essay"
    capsys.readouterr()
    wrong = shell.run_cell("%%rules desk\nroute a when n > 3 and -> h\n")
    printed = "".join(capsys.readouterr())
    assert not wrong.success and "E0101" in printed and "Traceback" not in printed
    assert shell.user_ns["desk"].decide({"n": 10}).target == "many", "rules that do not compile replace nothing"
    for line in ("", "two names more", "no-name", "desk missing"):
        assert not shell.run_cell(f"%%rules {line}\ndefault -> h\n").success


def test_it_is_unloaded(shell: Any) -> None:
    shell.run_line_magic("unload_ext", "rulec")
    assert "rules" not in shell.magics_manager.magics["cell"]
    # Values have HTML of their own, without the extension.
    rules = Rules.from_text("default -> h")
    assert "<th>handlers</th><td>h</td>" in html(shell, rules)
    for value in (rules.decide({}), rules.explain({})):
        shown: Any = value
        assert shown._repr_html_() == html(shell, value) != ""
    shell.run_line_magic("load_ext", "rulec")


def test_ipython_is_not_imported() -> None:
    code = "import rulec.notebook, sys; assert 'IPython' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
