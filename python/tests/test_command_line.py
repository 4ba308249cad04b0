"""``python -m rulec`` behaves like the program ``rulec``."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def rulec(*args: str, given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "rulec", *args], input=given, capture_output=True, text=True, timeout=60)


def test_it_decides_and_ends_with_its_status(tmp_path: Path) -> None:
    rules = tmp_path / "a.rules"
    rules.write_text("route big when n > 9 -> many\ndefault -> few\n")
    done = rulec("run", str(rules), "-", given='{"n": 10}\n')
    assert done.returncode == 0 and '"target":"many"' in done.stdout, done
    assert rulec("check", str(rules)).returncode == 0
    rules.write_text("route\n")
    wrong = rulec("check", str(rules))
    assert wrong.returncode == 1 and "a.rules" in wrong.stderr + wrong.stdout
    assert rulec("nonsense").returncode == 2 and rulec("--version").stdout.startswith("rulec ")


def test_an_interrupt_ends_it(tmp_path: Path) -> None:
    rules = tmp_path / "a.rules"
    rules.write_text("default -> few\n")
    running = subprocess.Popen([sys.executable, "-m", "rulec", "run", str(rules), "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert running.stdin is not None and running.stdout is not None
    running.stdin.write(b"{}\n")
    running.stdin.flush()
    time.sleep(1)
    os.kill(running.pid, signal.SIGINT)
    # The exit status names the signal.
    assert running.wait(30) == 128 + signal.SIGINT
    running.stdin.close()
    running.stdout.close()
