"""Spark with several local executor processes, one of which is killed during a job."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

EXECUTORS = 4


def session(**settings: str) -> Any:
    """Returns a session with four executors of one core each.

    In the names of ``settings``, ``__`` replaces the dot: ``sql__files__maxPartitionBytes``.
    """
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
    """Returns a function that passes batches on, and kills the first executor with a second batch.

    The file ``mark`` records the kill, so that only one executor is killed.
    """
    path = str(mark)

    # Spark pickles a nested function by value, but a module's function by name. The workers do not
    # have this module.
    def kill_one(batches: Iterable[Any]) -> Iterator[Any]:
        for at, one in enumerate(batches):
            if at == 1:
                try:
                    os.close(os.open(path, os.O_CREAT | os.O_EXCL))
                except FileExistsError:
                    pass
                else:
                    # The parent of the worker is the worker daemon, whose parent is the executor.
                    status = Path(f"/proc/{os.getppid()}/status").read_text()
                    executor = next(line for line in status.splitlines() if line.startswith("PPid:"))
                    os.kill(int(executor.split()[1]), signal.SIGKILL)
            yield one

    return kill_one
