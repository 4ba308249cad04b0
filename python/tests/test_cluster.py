"""Spark with several executor processes, one of which is killed, and Ray.

Each row must be answered once, with the answer of a single process.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from executors import EXECUTORS, killing, session
from generate import RULES, messages
from rulec import ColumnsMismatch, Rules, UnknownName, batch

pytestmark = pytest.mark.cluster

ROWS = int(os.environ.get("RULEC_ROWS", "100000"))


@pytest.fixture(scope="module")
def rules() -> Rules:
    return Rules.from_text(RULES)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Writes messages to several files; each field is a JSON text column, and ``id`` is the row."""
    folder = tmp_path_factory.mktemp("messages")
    rows = list(messages(ROWS, seed=11))
    for part in range(8):
        numbers = range(part, len(rows), 8)
        columns: dict[str, Any] = {"id": list(numbers)}
        for name in ("text", "n", "ctx"):
            columns[name] = [json.dumps(rows[at][name]) if name in rows[at] else None for at in numbers]
        schema = pa.schema([("id", pa.int64()), ("text", pa.string()), ("n", pa.string()), ("ctx", pa.string())])
        pa.parquet.write_table(pa.table(columns, schema=schema), folder / f"part-{part}.parquet")
    return folder


@pytest.fixture(scope="module")
def expected(rules: Rules, data: Path) -> list[tuple[int, str | None, str | None]]:
    table = pa.parquet.read_table(data)
    answers = batch.decide(rules, table, json=["text", "n", "ctx"])
    columns = [table.column("id"), answers.column("chosen"), answers.column("target")]
    return sorted(zip(*(column.to_pylist() for column in columns)))


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    pytest.importorskip("pyspark.sql")
    found = session(
        executor__memory="512m", driver__memory="2g", sql__execution__arrow__maxRecordsPerBatch="1000"
    )
    yield found
    found.stop()


def collected(frame: Any) -> list[tuple[int, str | None, str | None]]:
    table = frame.select("id", "decision.chosen", "decision.target").toArrow()
    return sorted(zip(*(column.to_pylist() for column in table.columns)))


def test_spark_answers_like_one_process(spark: Any, rules: Rules, data: Path, expected: Any) -> None:
    from rulec import spark as clusters

    answered = clusters.decide(spark.read.parquet(str(data)), rules, json=["text", "n", "ctx"])
    assert collected(answered) == expected
    assert answered.columns == ["id", "text", "n", "ctx", "decision"]
    short = clusters.decide(spark.read.parquet(str(data)), rules, json=["text", "n", "ctx"], fields=["chosen", "target"])
    assert collected(short) == expected and short.select("decision.*").columns == ["chosen", "target"]


def test_an_executor_dies_and_nothing_is_lost_or_doubled(
    spark: Any, rules: Rules, data: Path, expected: Any, tmp_path: Path
) -> None:
    from rulec import spark as clusters

    mark = tmp_path / "killed"
    frame = spark.read.parquet(str(data))
    broken = frame.mapInArrow(killing(mark), frame.schema)
    answered = clusters.decide(broken, rules, json=["text", "n", "ctx"])
    assert collected(answered) == expected
    assert mark.exists(), "an executor was killed on the way"


def test_rules_are_compiled_once_a_process(spark: Any, rules: Rules, data: Path, tmp_path: Path) -> None:
    """Every load creates a file; no process may create two, however many batches it gets."""
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

    from rulec._cluster import Job, digest

    folder, artifact = str(tmp_path), rules.to_artifact()
    name, sent = digest(artifact), spark.sparkContext.broadcast(artifact)

    def job(read: Any) -> Job:
        return Job(name + "-watched", read, "decision", json=["text", "n", "ctx"])

    def read() -> bytes:
        Path(folder, f"{os.getpid()}-{os.urandom(4).hex()}").touch()
        return bytes(sent.value)

    def work(batches: Iterable[Any]) -> Iterator[Any]:
        return job(read).decide(batches)

    frame = spark.read.parquet(str(data)).repartition(32)
    schema = from_arrow_schema(job(lambda: artifact).schema(to_arrow_schema(frame.schema)))
    assert len(collected(frame.mapInArrow(work, schema))) == ROWS
    loads = [path.name.split("-")[0] for path in Path(folder).iterdir()]
    assert 1 <= len(loads) <= 2 * EXECUTORS and len(loads) == len(set(loads)), loads


def test_columns_that_do_not_fit_are_an_error_of_the_driver(spark: Any, rules: Rules) -> None:
    from rulec import spark as clusters

    with pytest.raises(ColumnsMismatch, match="`text`"):
        clusters.decide(spark.createDataFrame([(1,)], ["n"]), rules)
    with pytest.raises(UnknownName, match="no `targte`; they have entry, chosen"):
        clusters.decide(spark.createDataFrame([(1,)], ["n"]), rules, allow_missing=True, fields=["targte"])


def test_ray_answers_like_one_process(rules: Rules, data: Path, expected: Any) -> None:
    pytest.importorskip("ray")
    import ray
    import ray.data

    from rulec import rays

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=256 << 20)
    try:
        answered = rays.decide(ray.data.read_parquet(str(data)), rules, json=["text", "n", "ctx"], batch_size=5000)
        rows = answered.take_all()
    finally:
        ray.shutdown()
    assert sorted((row["id"], row["decision"]["chosen"], row["decision"]["target"]) for row in rows) == expected
