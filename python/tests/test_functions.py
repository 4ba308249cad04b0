"""Python functions that rules call, threads, and sub-interpreters."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from rulec import CompileError, Rules

SCORE = "extern fn score(text: string) -> int\nroute long when score(text) > 10 -> essay(n: score(text))\ndefault -> short"


def test_a_function_of_python() -> None:
    calls: list[str] = []

    def score(text: str) -> int:
        calls.append(text)
        return len(text)

    rules = Rules.from_text(SCORE, functions={"score": score})
    decision = rules.decide({"text": "a rather long text"})
    assert decision.chosen == "long" and decision.args == {"n": 18}
    assert calls == ["a rather long text"], "once for the same arguments"


def test_an_exception_is_a_result() -> None:
    def score(text: str) -> int:
        raise ValueError("no score today")

    rules = Rules.from_text(SCORE, functions={"score": score})
    decision = rules.decide({"text": "a rather long text"})
    assert decision.is_default and decision.failures == [("score", "ValueError: no score today")]
    assert "no score today" in str(rules.explain({"text": "a rather long text"}))


@pytest.mark.parametrize("raised", [KeyboardInterrupt(), SystemExit(3), RecursionError("deep"), Exception()])
def test_whatever_is_raised(raised: BaseException) -> None:
    def score(text: str) -> int:
        raise raised

    [(name, words)] = Rules.from_text(SCORE, functions={"score": score}).decide({"text": "x"}).failures
    assert name == "score" and words.startswith(type(raised).__name__)


@pytest.mark.parametrize("returned", ["ten", None, 3.5, [1]])
def test_a_result_of_another_type_is_missing(returned: Any) -> None:
    rules = Rules.from_text(SCORE, functions={"score": lambda text: returned})
    assert rules.decide({"text": "a rather long text"}).is_default


def test_a_result_that_json_has_no_form_for_is_a_failure() -> None:
    rules = Rules.from_text(SCORE, functions={"score": lambda text: object()})
    [(_, words)] = rules.decide({"text": "x"}).failures
    assert "type `object`" in words


@pytest.mark.parametrize(
    ("functions", "words"),
    [
        ({}, "registers no function `score`"),
        ({"scores": len}, "did you mean that"),
        ({"score": lambda: 1}, "declared with 1 arguments, but registered with 0"),
        ({"score": lambda a, b: 1}, "declared with 1 arguments, but registered with 2"),
    ],
)
def test_functions_that_do_not_fit(functions: dict[str, Any], words: str) -> None:
    with pytest.raises(CompileError, match=words):
        Rules.from_text(SCORE, functions=functions)


def test_any_number_of_arguments() -> None:
    assert Rules.from_text(SCORE, functions={"score": lambda *args: 11}).decide({"text": "x"}).chosen == "long"
    assert Rules.from_text(SCORE, functions={"score": lambda text, more=1: 11}).decide({"text": "x"}).chosen == "long"
    assert Rules.from_text(SCORE, functions={"score": len}).decide({"text": "x" * 11}).chosen == "long"


def test_a_function_may_decide_itself() -> None:
    inner = Rules.from_text('route a when text contains "x" -> h\ndefault -> z')
    rules = Rules.from_text(SCORE, functions={"score": lambda text: 99 if inner.decide({"text": text}).chosen == "a" else 0})
    assert rules.decide({"text": "axb"}).chosen == "long" and rules.decide({"text": "b"}).is_default


def test_threads_decide_at_the_same_time() -> None:
    """The GIL is released while a decision waits for a function; threads do not mix answers."""
    barrier = threading.Barrier(4, timeout=30)

    def score(text: str) -> int:
        barrier.wait()
        return len(text)

    rules = Rules.from_text(SCORE, functions={"score": score})

    def decide(n: int) -> list[str | None]:
        return [rules.decide({"text": f"{n} " + "y" * (n * 5)}).chosen for _ in range(50)]

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(decide, range(4)))
    assert answers == [["default"] * 50, ["default"] * 50, ["long"] * 50, ["long"] * 50]


def test_the_lock_is_released_while_deciding() -> None:
    """Other threads run during a long decision."""
    rules = Rules.from_text('route a when similarity(text, other) >= 0.99 -> h\ndefault -> z')
    message = {"text": "ab" * 2000, "other": "ba" * 2000}
    counted, stop = [0], threading.Event()

    def count() -> None:
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0)

    # With such a long switch interval, another thread runs only when the GIL is released.
    interval = sys.getswitchinterval()
    sys.setswitchinterval(30)
    counter = threading.Thread(target=count)
    counter.start()
    try:
        started = counted[0]
        for _ in range(50):
            rules.decide(message)
        assert counted[0] > started
    finally:
        stop.set()
        sys.setswitchinterval(interval)
        counter.join()


def test_no_private_module_is_needed() -> None:
    program = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parents[1])!r})\n"
        "sys.modules['_xxsubinterpreters'] = None\nimport rulec\nprint(rulec.Rules.from_text('default -> a').decide({}).target)\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (ran.returncode, ran.stdout) == (0, "a\n"), ran


def test_a_sub_interpreter_is_refused() -> None:
    inner = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parents[1])!r})\n"
        "try:\n    import rulec\n    print('served', flush=True)\n"
        "except ImportError as error:\n    print('refused', error, flush=True)\n"
    )
    program = (
        "import importlib, sys\n"
        "found = importlib.import_module('_interpreters' if sys.version_info >= (3, 13) else '_xxsubinterpreters')\n"
        f"found.run_string(found.create(), {inner!r})\n"
    )
    for first in ("", "import rulec\n"):
        ran = subprocess.run([sys.executable, "-c", first + program], capture_output=True, text=True, timeout=120)
        assert ran.returncode == 0 and "refused" in ran.stdout and "subinterpreters" in ran.stdout.replace("-", ""), ran


def test_a_process_ends_while_threads_decide() -> None:
    code = """
import threading, rulec
rules = rulec.Rules.from_text("extern fn f(t: string) -> int\\nroute a when f(text) > 1 -> h", functions={"f": len})
def work():
    while True:
        rules.decide({"text": "abc"})
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
