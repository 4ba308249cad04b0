"""Rules over record batches: PyArrow tables, pandas and Polars frames, and streams of batches.

A column is a field of the message, and a struct one whose fields are fields of it. Nothing is copied a row: the engine reads
where the columns lie. Nulls, and values of other types than the rules ask for, count as missing, as in JSON.

>>> import pyarrow as pa
>>> from rulec import Rules, batch
>>> rules = Rules.from_text('route small when n < 10 -> few(n: n) default -> many')
>>> answers = batch.decide(rules, pa.table({"n": [3, None, 30]}))
>>> answers.column("target").to_pylist()
['few', 'many', 'many']

A column that is missing, or that the rules cannot read, is one error before the first row.

>>> from rulec import ColumnsMismatch
>>> try:
...     batch.decide(rules, pa.table({"m": [3]}))
... except ColumnsMismatch as error:
...     print(str(error).split(";")[0])
the rules read `n`, and there is no such column
"""

# PyArrow and the clusters say little of their types.
# pyright: basic

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

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
    """Binds rules, or a judge of payloads, to the columns of a schema, for batches that come one by one."""
    if isinstance(rules, Judge):
        return Columns.of_judge(rules, schema, json=json)
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
    """Decides for each row: the answers are of the same kind as the data (a stream for a stream), a row for each row.

    Texts in the columns ``json`` are read as JSON; with ``allow_missing`` the rules may read columns that are not there,
    and with ``matched`` the answers name all routes that hold.
    """

    def bound(schema: Any) -> Columns:
        return bind(rules, schema, entry=entry, json=json, allow_missing=allow_missing, matched=matched)

    return cast(Frame, _answered(bound, data))


def judge(judge: Judge, data: Frame, *, json: Sequence[str] = ()) -> Frame:
    """Judges each row as a payload; the answers are of the same kind as the data."""
    return cast(Frame, _answered(lambda schema: bind(judge, schema, json=json), data))


def lines(answers: Any, *, first: int = 1) -> bytes:
    """Writes answers as the JSON lines that ``rulec run`` prints for the same messages."""
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
    """True for a value of a class of a module, which is not imported for the question."""
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
        # The index is no column: what is of interest in it is made one by `reset_index`.
        return pa.Table.from_pandas(data, preserve_index=False)
    if hasattr(data, "__arrow_c_stream__"):
        return pa.table(data)
    if hasattr(data, "__arrow_c_array__"):
        return pa.Table.from_batches([pa.record_batch(data)])
    raise TypeError(f"a table is wanted, of PyArrow, pandas, Polars or with Arrow's interface, and not {type(data).__name__}")
