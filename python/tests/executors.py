"""Spark in several executor processes on this machine, and one of them that dies on the way."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

EXECUTORS = 4


def session(**settings: str) -> Any:
    """A session with four executors of one core each; ``settings`` are names without dots: ``sql__files__maxPartitionBytes``."""
    from pyspark.sql import SparkSession

    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    own = {
        "ui__enabled": "false",
        "driver__bindAddress": "127.0.0.1",
        "driver__host": "127.0.0.1",
        "task__maxFailures": "8",
    }
    build = SparkSession.builder.master(f"local-cluster[{EXECUTORS},1,1024]")
    for name, value in (own | settings).items():
        build = build.config(f"spark.{name.replace('__', '.')}", value)
    return build.getOrCreate()


def killing(mark: Path) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Hands batches on, and kills the executor of whoever comes to a second batch first; ``mark`` is there from then on."""
    path = str(mark)

    # Spark sends a function inside a function as it is, and one of a module by its name, which its workers do not have.
    def kill_one(batches: Iterable[Any]) -> Iterator[Any]:
        for at, one in enumerate(batches):
            if at == 1:
                try:
                    os.close(os.open(path, os.O_CREAT | os.O_EXCL))
                except FileExistsError:
                    pass
                else:
                    # The worker's parent is the daemon of the workers, and its parent the executor.
                    status = Path(f"/proc/{os.getppid()}/status").read_text()
                    executor = next(line for line in status.splitlines() if line.startswith("PPid:"))
                    os.kill(int(executor.split()[1]), signal.SIGKILL)
            yield one

    return kill_one
