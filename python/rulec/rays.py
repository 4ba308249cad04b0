"""Decide the rows of a Ray data set, each in the process that stores the row.

The rules are stored as an artifact in Ray's object store. Each worker process compiles the artifact
once, not once per batch::

    from rulec import Rules, rays

    answered = rays.decide(ray.data.read_parquet("messages"), Rules.from_path("support.rules"))
"""

# PyArrow and the cluster libraries have few type annotations, and may not be installed.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ._cluster import Job, digest
from ._rulec import Rules

if TYPE_CHECKING:
    from ray.data import Dataset


def decide(
    data: Dataset,
    rules: Rules,
    *,
    entry: str | None = None,
    into: str = "decision",
    json: Sequence[str] = (),
    allow_missing: bool = False,
    fields: Sequence[str] = (),
    **options: Any,
) -> Dataset:
    """Decides each row of a data set, and stores the answer in the column ``into``.

    ``fields`` selects parts of the answer; empty selects all. ``options`` are passed to
    ``map_batches``.
    """
    import pyarrow as pa
    import ray

    artifact = rules.to_artifact()
    name = digest(artifact)
    sent = ray.put(artifact)

    def work(table: Any) -> Any:
        job = Job(name, lambda: ray.get(sent), into, entry, json, allow_missing, fields)
        batches = list(job.decide(table.to_batches()))
        return pa.Table.from_batches(batches, job.schema(table.schema))

    return data.map_batches(work, batch_format="pyarrow", zero_copy_batch=True, **options)
