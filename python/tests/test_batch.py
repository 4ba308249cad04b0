"""Record batches of PyArrow, pandas, Polars and streams, compared with JSON lines."""

from __future__ import annotations

import itertools
import json
import os
import threading
from collections.abc import Iterator
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from generate import RULES, messages
from rulec import ColumnsMismatch, Rules, UnknownName, batch

MESSAGES = int(os.environ.get("RULEC_MESSAGES", "20000"))

SMALL = Rules.from_text(
    'input { n: number  ctx?: { tags?: list<string> } }\nroute red when ctx.tags contains "red" -> reds(n: n)\nroute small when n < 10 -> few(n: n) { kind: "s" }\ndefault -> many'
)
ROWS: list[dict[str, Any]] = [
    {"n": 3, "ctx": {"tags": ["blue"]}},
    {"n": None, "ctx": None},
    {"n": 30, "ctx": {"tags": ["red", None]}},
]
CHOSEN = ["small", "default", "red"]


def table() -> pa.Table:
    return pa.Table.from_pylist(ROWS)


def test_tables_batches_and_streams() -> None:
    answers = batch.decide(SMALL, table())
    assert isinstance(answers, pa.Table) and answers.column("chosen").to_pylist() == CHOSEN
    [first, *_] = batch.lines(answers).decode().split("\n")
    assert first == '{"line":1,"entry":"routes","chosen":"small","target":"few","args":{"n":3},"metadata":{"kind":"s"}}'
    one = table().to_batches()[0]
    assert batch.decide(SMALL, one).column("chosen").to_pylist() == CHOSEN
    stream = batch.decide(SMALL, pa.RecordBatchReader.from_batches(one.schema, iter([one, one])))
    assert isinstance(stream, pa.RecordBatchReader) and stream.read_all().column("chosen").to_pylist() == CHOSEN * 2
    assert batch.decide(SMALL, table(), matched=True).num_rows == 3
    assert batch.decide(SMALL, table().slice(0, 0)).num_rows == 0


def test_pandas_keeps_its_index() -> None:
    frame = pd.DataFrame({"n": [3.0, None, 30.0], "ctx": [row["ctx"] for row in ROWS]}, index=["a", "b", "c"])
    answers = batch.decide(SMALL, frame)
    assert isinstance(answers, pd.DataFrame) and list(answers["chosen"]) == CHOSEN and list(answers.index) == ["a", "b", "c"]


def test_polars_eager_and_lazy() -> None:
    frame = pl.DataFrame(ROWS)
    answers = batch.decide(SMALL, frame)
    assert isinstance(answers, pl.DataFrame) and answers["chosen"].to_list() == CHOSEN
    lazy = batch.decide(SMALL, frame.lazy())
    assert isinstance(lazy, pl.LazyFrame) and lazy.collect()["chosen"].to_list() == CHOSEN


def test_whatever_speaks_arrow() -> None:
    class Speaks:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return table().__arrow_c_stream__(requested_schema)

    answers: Any = batch.decide(SMALL, Speaks())
    assert answers.column("chosen").to_pylist() == CHOSEN
    with pytest.raises(TypeError, match="a table is wanted"):
        batch.decide(SMALL, [1])


def test_columns_that_do_not_fit_are_one_error_before_the_first_row() -> None:
    with pytest.raises(ColumnsMismatch, match="`n`"):
        batch.decide(SMALL, table().drop_columns(["n"]))
    assert batch.decide(SMALL, table().drop_columns(["n"]), allow_missing=True).num_rows == 3
    with pytest.raises(UnknownName):
        batch.decide(SMALL, table(), entry="nothing")
    bound = batch.bind(SMALL, table().schema)
    with pytest.raises(ColumnsMismatch, match="does not have the columns"):
        bound.answer(pa.record_batch({"n": [1]}))


def test_an_entry_needs_only_the_columns_that_it_reads() -> None:
    rules = Rules.from_text("""
        route big when n > 9 -> many(plan: ctx.plan)
        default -> goto words
        table words { route hello when text contains "hello" -> greeter default -> chat }
        table sizes { route long when size > 3 -> queue(at: started) default -> chat }
    """)
    texts = pa.table({"text": ["hello", "good day", None]})
    assert batch.decide(rules, texts, entry="words").column("target").to_pylist() == ["greeter", "chat", "chat"]
    # The routes jump to `words`, so they read its columns too.
    for missing in ("n", "text", "ctx"):
        whole = pa.table({"n": [10], "text": ["hello"], "ctx": [{"plan": "a"}]})
        assert batch.decide(rules, whole).column("chosen").to_pylist() == ["big"]
        with pytest.raises(ColumnsMismatch, match=f"`{missing}"):
            batch.decide(rules, whole.drop_columns([missing]))
    with pytest.raises(ColumnsMismatch, match="`started`"):
        batch.decide(rules, pa.table({"size": [4]}), entry="sizes")
    # A column that only other entries read may have any type, also one that rules cannot read.
    rows = [{"text": "hello", "n": "ten", "size": True}]
    answers = batch.decide(rules, pa.Table.from_pylist(rows), entry="words")
    expected = rules.decide(rows[0], entry="words").to_json()
    assert batch.lines(answers) == f'{{"line":1,{expected[1:]}\n'.encode()
    odd = texts.append_column("n", pa.array([1, 2, 3], pa.duration("s")))
    assert batch.decide(rules, odd, entry="words").column("target").to_pylist() == ["greeter", "chat", "chat"]
    with pytest.raises(ColumnsMismatch, match="`n`"):
        batch.decide(rules, odd)
    # A declared input is checked as a whole.
    declared = Rules.from_text("input { n: int, text: string } route a when n > 9 -> h table t { route b when text == 'x' -> h }".replace("'", '"'))
    with pytest.raises(ColumnsMismatch, match="`n`"):
        batch.decide(declared, texts, entry="t")


def test_an_exception_in_a_stream_is_the_callers() -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield table().to_batches()[0]
        raise RuntimeError("the source is gone")

    stream = batch.decide(SMALL, pa.RecordBatchReader.from_batches(table().schema, batches()))
    assert stream.read_next_batch().num_rows == 3
    with pytest.raises(pa.ArrowInvalid, match="the source is gone"):
        stream.read_next_batch()


def test_payloads() -> None:
    rules = Rules.from_text('payload pay rank 1 {\n  amount: number in 0..=500\n  currency: string default "EUR"\n}')
    answers = batch.judge(rules.judge("pay"), pa.table({"amount": [20, 900], "currency": ["EUR", None]}))
    assert answers.column("outcome").to_pylist() == ["accept", "reject"]


def test_json_in_a_column() -> None:
    answers = batch.decide(SMALL, pa.table({"n": [99], "ctx": ['{"tags": ["red"]}']}), json=["ctx"])
    assert answers.column("chosen").to_pylist() == ["red"]


def test_functions_and_threads() -> None:
    rules = Rules.from_text(
        "extern fn double(n: int) -> int\nroute big when double(n) > 10 -> h\ndefault -> z", functions={"double": lambda n: 2 * n}
    )
    bound = batch.bind(rules, pa.schema([("n", pa.int64())]))
    data = pa.record_batch({"n": list(range(10))})
    seen: list[list[str]] = []
    threads = [threading.Thread(target=lambda: seen.append(bound.answer(data).column("chosen").to_pylist())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [["default"] * 6 + ["big"] * 4] * 8


def test_answers_are_those_of_json_lines() -> None:
    """Dicts, JSON text and columns get the same answers, byte for byte.

    Values may be missing, null or of another type.
    """
    rules, seen = Rules.from_text(RULES), set[str]()
    source = messages(MESSAGES, seed=7)
    for first in range(1, MESSAGES + 1, 10_000):
        rows = list(itertools.islice(source, 10_000))
        by_json = [rules.decide_json(json.dumps(row)).to_json() for row in rows]
        assert [decision.to_json() for decision in rules.decide_many(rows)] == by_json
        assert [rules.decide(rules.prepare(row)).to_json() for row in rows[:1000]] == by_json[:1000]
        # A column has one type, so fields of several types are JSON text.
        columns = {name: [json.dumps(row[name]) if name in row else None for row in rows] for name in ("text", "n", "ctx")}
        answers = batch.decide(rules, pa.table(columns), json=list(columns))
        lines = batch.lines(answers, first=first).decode().split("\n")[:-1]
        assert lines == [f'{{"line":{at},{answer[1:]}' for at, answer in enumerate(by_json, first)]
        seen.update(by_json)
    assert len(seen) > 50, "the messages reach many answers"
