"""Decide record batches: PyArrow tables, pandas and Polars frames, and streams of batches.

Each column is a field of the message; a struct column is an object with fields. The engine reads
the column buffers directly, without copying rows. Nulls, and values of a type that the rules do not
read, count as missing, as in JSON.

>>> import pyarrow as pa
>>> from rulec import Rules, batch
>>> rules = Rules.from_text('route small when n < 10 -> few(n: n) default -> many')
>>> answers = batch.decide(rules, pa.table({"n": [3, None, 30]}))
>>> answers.column("target").to_pylist()
['few', 'many', 'many']

Missing columns, and columns that the rules cannot read, raise one error before the first row.

>>> from rulec import ColumnsMismatch
>>> try:
...     batch.decide(rules, pa.table({"m": [3]}))
... except ColumnsMismatch as error:
...     print(str(error).split(";")[0])
the rules read `n`, but there is no such column
"""

# PyArrow and the cluster libraries have few type annotations.
# pyright: basic

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ._history import warn_without_history
from ._rulec import Columns, Judge, Rules, json_lines

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["bind", "decide", "judge", "lines"]

Frame = TypeVar("Frame")


def bind(
    rules: Rules | Judge,
    schema: Any,
    *,
    entry: str | None = None,
    json: Sequence[str] = (),
    allow_missing: bool = False,
    matched: bool = False,
) -> Columns:
    """Binds rules or a judge to the columns of a schema, to answer batches one by one."""
    if isinstance(rules, Judge):
        return Columns.of_judge(rules, schema, json=json)
    warn_without_history(rules, "a batch")
    return Columns.of_rules(rules, schema, entry=entry, json=json, allow_missing=allow_missing, matched=matched)


def decide(
    rules: Rules,
    data: Frame,
    *,
    entry: str | None = None,
    json: Sequence[str] = (),
    allow_missing: bool = False,
    matched: bool = False,
) -> Frame:
    """Decides each row; returns one row of answers per row, in the same type as ``data``.

    A stream gives a stream. Texts in the columns ``json`` are read as JSON. With ``allow_missing``,
    columns that the rules read may be missing. With ``matched``, the answers list all matching
    routes.
    """

    def bound(schema: Any) -> Columns:
        return bind(rules, schema, entry=entry, json=json, allow_missing=allow_missing, matched=matched)

    return cast(Frame, _answered(bound, data))


def judge(judge: Judge, data: Frame, *, json: Sequence[str] = ()) -> Frame:
    """Checks each row as a payload; the results have the same type as ``data``."""
    return cast(Frame, _answered(lambda schema: bind(judge, schema, json=json), data))


def lines(answers: Any, *, first: int = 1) -> bytes:
    """Returns answers as the JSON lines that ``rulec run`` prints for the same messages."""
    written: list[bytes] = []
    for batch in _table(answers).to_batches():
        written.append(json_lines(batch, first))
        first += batch.num_rows
    return b"".join(written)


def _answered(bound: Callable[[Any], Columns], data: Any) -> Any:
    import pyarrow as pa

    if isinstance(data, pa.RecordBatch):
        return bound(data.schema).answer(data)
    if isinstance(data, pa.RecordBatchReader):
        return bound(data.schema).answer_stream(data)
    table = _table(data)
    columns = bound(table.schema)
    answers = pa.Table.from_batches([columns.answer(batch) for batch in table.to_batches()], columns.schema)
    if _is("polars", "LazyFrame", data):
        return sys.modules["polars"].from_arrow(answers).lazy()
    if _is("polars", "DataFrame", data):
        return sys.modules["polars"].from_arrow(answers)
    if _is("pandas", "DataFrame", data):
        frame = answers.to_pandas()
        frame.index = data.index
        return frame
    return answers


def _is(module: str, name: str, data: Any) -> bool:
    """True if ``data`` is an instance of a module's class; does not import the module."""
    found = sys.modules.get(module)
    return found is not None and isinstance(data, getattr(found, name))


def _table(data: Any) -> pa.Table:
    import pyarrow as pa

    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if _is("polars", "LazyFrame", data):
        data = data.collect()
    if _is("pandas", "DataFrame", data):
        # The index is not a column; `reset_index` converts it to one if needed.
        return pa.Table.from_pandas(data, preserve_index=False)
    if hasattr(data, "__arrow_c_stream__"):
        return pa.table(data)
    if hasattr(data, "__arrow_c_array__"):
        return pa.Table.from_batches([pa.record_batch(data)])
    raise TypeError(f"a table is wanted, of PyArrow, pandas, Polars or with Arrow's interface, and not {type(data).__name__}")
