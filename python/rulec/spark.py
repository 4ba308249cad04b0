"""Rules over Spark: each row of a frame with its answer, decided where the row lies.

The rules travel as an artifact that is broadcast: a worker process compiles it once, not a batch and not a task. The
answers are one column more, a struct of the columns that `rulec run` would print::

    from rulec import Rules, spark

    answered = spark.decide(frame, Rules.from_path("support.rules"))
    answered.groupBy("decision.target").count().show()
"""

# PyArrow and the clusters say little of their types, and need not be there.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ._cluster import Job, digest
from ._rulec import Rules

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def decide(
    frame: DataFrame,
    rules: Rules,
    *,
    entry: str | None = None,
    into: str = "decision",
    json: Sequence[str] = (),
    allow_missing: bool = False,
    fields: Sequence[str] = (),
) -> DataFrame:
    """Decides for each row of a frame, and puts the answer into the column ``into``.

    A column that is missing, or that the rules cannot read, is an error here and not on the executors. Rules with host
    functions do not travel: give them to the executors' own program. ``fields`` names the parts of the answers that are
    wanted; what is left out need not go from Python to Spark, which takes longer than to decide.
    """
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

    artifact = rules.to_artifact()
    name = digest(artifact)
    columns = to_arrow_schema(frame.schema)
    schema = from_arrow_schema(Job(name, lambda: artifact, into, entry, json, allow_missing, fields).schema(columns))
    sent = frame.sparkSession.sparkContext.broadcast(artifact)

    def work(batches: Iterable[Any]) -> Iterator[Any]:
        return Job(name, lambda: sent.value, into, entry, json, allow_missing, fields).decide(batches)

    return frame.mapInArrow(work, schema)
