"""Decide the rows of a Spark frame, each in the process that stores the row.

The rules are broadcast as an artifact. Each worker process compiles the artifact once, not once per
batch or task. The answers are an added struct column, with the fields that `rulec run` prints::

    from rulec import Rules, spark

    answered = spark.decide(frame, Rules.from_path("support.rules"))
    answered.groupBy("decision.target").count().show()
"""

# PyArrow and the cluster libraries have few type annotations, and may not be installed.
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
    """Decides each row of a frame, and stores the answer in the column ``into``.

    A column that is missing, or that the rules cannot read, raises an error here and not on the
    executors. Rules with host functions cannot be broadcast; load them in the executors' own
    program. ``fields`` selects parts of the answer. Fewer parts are faster, because the transfer
    from Python to Spark takes longer than the decision.
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
