"""Measures the times of the package, and of other ways to the same answers, in one run.

``python bench/measure.py [PART …]`` prints times and ratios. Build with ``maturin develop
--release`` first; all parts also need ``pip install 'rulec[peers,clusters]'``. The part ``rust``
needs the environment variable ``TIMED``, the path of the example ``timed`` of ``crates/arrow``.
"""

from __future__ import annotations

import gc
import importlib.util
import json
import re
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from rulec import Rules, batch

ROUTES = 100


def best(work: Callable[[], Any], count: int, rounds: int = 5) -> float:
    """Returns the time of one call in microseconds, from the fastest round of ``count`` calls."""
    times = []
    for _ in range(rounds):
        gc.disable()
        start = time.perf_counter()
        for _ in range(count):
            work()
        times.append((time.perf_counter() - start) / count)
        gc.enable()
    return min(times) * 1e6


def desk(count: int = ROUTES) -> tuple[str, list[tuple[re.Pattern[str], int, str]]]:
    """Returns ``count`` routes as rules, and their conditions as the list that ``by_hand`` tries."""
    routes, chain = [], []
    for at in range(count):
        words = [f"topic{at}", f"matter {at}", f"issue-{at}"]
        listed = ", ".join(json.dumps(word) for word in words)
        routes.append(f"route r{at} when text contains word any [{listed}] ignoring case and ctx.n > {at % 10} -> h{at}")
        pattern = "|".join(re.escape(word) for word in words)
        chain.append((re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE), at % 10, f"h{at}"))
    return "\n".join([*routes, "default -> z"]), chain


def by_hand(chain: list[tuple[re.Pattern[str], int, str]], message: dict[str, Any]) -> str:
    text, ctx = message.get("text"), message.get("ctx")
    count = ctx.get("n") if isinstance(ctx, dict) else None
    for pattern, least, handler in chain:
        if isinstance(text, str) and isinstance(count, (int, float)) and count > least and pattern.search(text):
            return handler
    return "z"


def chains() -> None:
    text, chain = desk()
    rules = Rules.from_text(text)
    long = "Good morning, I have been trying to reach you about the delivery of my order for a week and nobody answers. "
    print(f"-- {ROUTES} routes of three words each: rules, and a chain of `if` with compiled `re`")
    for name, message in [
        ("default, 120 characters", {"text": long, "ctx": {"n": 11}}),
        ("the last route, 130 characters", {"text": long + "matter 99", "ctx": {"n": 11}}),
        ("the first route, 130 characters", {"text": long + "matter 0", "ctx": {"n": 11}}),
        ("default, 1,100 characters", {"text": long * 10, "ctx": {"n": 11}}),
    ]:
        assert rules.decide(message).target == by_hand(chain, message)
        own = best(lambda: rules.decide(message), 20_000)
        hand = best(lambda: by_hand(chain, message), 200)
        print(f"{name:34} {own:8.2f} us  {hand:10.2f} us  {hand / own:7.1f} x")
    mixed = [{"text": long + (f"topic{at}" if at % 2 else "nothing"), "ctx": {"n": at % 14}} for at in range(200)]
    own = best(lambda: [rules.decide(message) for message in mixed], 100) / len(mixed)
    hand = best(lambda: [by_hand(chain, message) for message in mixed], 3) / len(mixed)
    print(f"{'a mix of 200 messages':34} {own:8.2f} us  {hand:10.2f} us  {hand / own:7.1f} x")


def peers() -> None:
    """Measures ten conditions that two other rule engines can express too."""
    conditions = [(f'ctx.n > {at * 10} and ctx.plan == "p{at}"', f"h{at}") for at in range(10)]
    rules = Rules.from_text("\n".join(f"route r{at} when {when} -> {to}" for at, (when, to) in enumerate(conditions)) + "\ndefault -> z")
    message = {"text": "hello", "ctx": {"n": 95, "plan": "p9"}}
    assert rules.decide(message).target == "h9"
    own = best(lambda: rules.decide(message).target, 50_000)
    print("-- ten conditions over a number and a text")
    print(f"{'rulec':34} {own:8.2f} us")
    if importlib.util.find_spec("zen"):
        import zen

        table = {
            "nodes": [
                {"id": "in", "type": "inputNode", "name": "in", "position": {"x": 0, "y": 0}},
                {"id": "t", "type": "decisionTableNode", "name": "t", "position": {"x": 0, "y": 0}, "content": {
                    "hitPolicy": "first",
                    "inputs": [{"id": "n", "type": "expression", "field": "ctx.n", "name": "n"}, {"id": "p", "type": "expression", "field": "ctx.plan", "name": "p"}],
                    "outputs": [{"id": "to", "type": "expression", "field": "to", "name": "to"}],
                    "rules": [{"_id": f"r{at}", "n": f"> {at * 10}", "p": f'"p{at}"', "to": f'"h{at}"'} for at in range(10)],
                }},
                {"id": "out", "type": "outputNode", "name": "out", "position": {"x": 0, "y": 0}},
            ],
            "edges": [
                {"id": "1", "sourceId": "in", "targetId": "t", "type": "edge"},
                {"id": "2", "sourceId": "t", "targetId": "out", "type": "edge"},
            ],
        }
        decision = zen.ZenEngine().create_decision(json.dumps(table))
        assert decision.evaluate(message)["result"] == {"to": "h9"}, decision.evaluate(message)
        other = best(lambda: decision.evaluate(message), 5_000)
        print(f"{'zen-engine, a decision table':34} {other:8.2f} us  {other / own:7.1f} x")
    if importlib.util.find_spec("cel"):
        import cel

        said = [(cel.compile(when.replace(" and ", " && ")), to) for when, to in conditions]

        def tried() -> str:
            context = cel.Context(message)
            return next((to for program, to in said if program.execute(context)), "z")

        assert tried() == "h9"
        other = best(tried, 2_000)
        print(f"{'common-expression-language':34} {other:8.2f} us  {other / own:7.1f} x")


def forms() -> None:
    """Measures decisions of one message as a dict, as JSON text, and prepared in advance."""
    from generate import RULES, messages

    rules = Rules.from_text(RULES)
    rows = list(messages(2000, seed=3))
    texts = [json.dumps(row) for row in rows]
    ready = [rules.prepare(row) for row in rows]
    print("-- one message in each form, 2,000 generated ones")
    for name, work in [
        ("decide(dict)", lambda: [rules.decide(row) for row in rows]),
        ("decide_many(dicts)", lambda: rules.decide_many(rows)),
        ("decide_json(text)", lambda: [rules.decide_json(text) for text in texts]),
        ("json.loads, then decide(dict)", lambda: [rules.decide(json.loads(text)) for text in texts]),
        ("decide(prepared)", lambda: [rules.decide(one) for one in ready]),
    ]:
        print(f"{name:34} {best(work, 10) / len(rows):8.2f} us")


def table(count: int) -> Any:
    import pyarrow as pa

    texts = [f"good day, about topic{at % 150} and the rest of it" for at in range(count)]
    return pa.table({"text": texts, "ctx": pa.array([{"n": at % 14} for at in range(count)])})


def batches() -> None:
    text, _ = desk()
    rules, count = Rules.from_text(text), 200_000
    whole = table(count)
    seconds = best(lambda: batch.decide(rules, whole), 1) / 1e6
    print(f"-- a table of {count:,} rows: {count / seconds:,.0f} rows a second on one core")
    bound = batch.bind(rules, whole.schema)
    for size in (1_000, 10_000):
        piece, empty = whole.slice(0, size).to_batches()[0], whole.slice(0, 0).combine_chunks()
        empty = empty.to_batches()[0] if empty.to_batches() else piece.slice(0, 0)
        full, nothing = best(lambda: bound.answer(piece), 50), best(lambda: bound.answer(empty), 500)
        print(f"   batches of {size:6,}: {full / size:6.3f} us a row; all but the rows takes {nothing:6.1f} us, {nothing / full:.2%}")
    rows = whole.to_pylist()
    alone = best(lambda: rules.decide_many(rows), 1) / 1e6
    print(f"   the same rows as dicts: {count / alone:,.0f} a second")


def rust() -> None:
    """Measures the same batches alternately: decided from Python, and by the program ``TIMED``."""
    import os
    import subprocess

    import pyarrow as pa

    if "TIMED" not in os.environ:
        print("-- batches in Rust: left out, since TIMED names no program")
        return
    rows, size = 64_000, 8_000
    print(f"-- batches of {size:,} rows, from Python and in Rust, in turn: the median ratio of 40 pairs, and the best times")
    for routes in (10, 100, 1_000):
        whole = table(rows)
        pieces = whole.to_batches(max_chunksize=size)
        with tempfile.TemporaryDirectory() as folder:
            rules, file = Path(folder, "desk.rules"), Path(folder, "messages.arrow")
            rules.write_text(desk(routes)[0])
            with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_file(sink, whole.schema) as writer:
                writer.write_table(whole, max_chunksize=size)
            command = [os.environ["TIMED"], str(rules), str(file)]
            bound = batch.bind(Rules.from_path(rules), whole.schema)
            with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as other:
                assert other.stdin is not None and other.stdout is not None

                def there() -> float:
                    other.stdin.write("\n")
                    return int(other.stdout.readline()) / 1e9

                def here() -> float:
                    start = time.perf_counter()
                    for piece in pieces:
                        bound.answer(piece)
                    return time.perf_counter() - start

                # Warms up both processes: the engine compiles rules to machine code while it decides.
                for _ in range(10):
                    here(), there()
                pairs = [(here(), there()) for _ in range(40)]
                other.stdin.close()
        ratio = sorted(other / own for own, other in pairs)[len(pairs) // 2]
        own, other_best = (min(times) for times in zip(*pairs))
        print(f"   {routes:5} routes: {rows / own / 1e6:5.2f} million rows a second from Python, {rows / other_best / 1e6:5.2f} in Rust, ratio {ratio:.2f}")


def cluster() -> None:
    """Compares Spark on one core with this process; both read and answer the same file."""
    import os

    import pyarrow.parquet as parquet
    from pyspark.sql import SparkSession

    from rulec import spark as clusters

    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    text, _ = desk()
    rules, count = Rules.from_text(text), 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/messages.parquet"
        parquet.write_table(table(count), path)

        def here() -> None:
            with parquet.ParquetFile(path) as file:
                bound = batch.bind(rules, file.schema_arrow)
                for one in file.iter_batches(10_000):
                    bound.answer(one)

        session = (
            SparkSession.builder.master("local-cluster[1,1,1024]")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.sql.execution.arrow.maxRecordsPerBatch", "10000")
            .getOrCreate()
        )
        frame = session.read.parquet(path)
        plain = frame.mapInArrow(lambda batches: batches, frame.schema)
        answered, short = clusters.decide(frame, rules), clusters.decide(frame, rules, fields=["target"])
        there = lambda what: best(lambda: what.write.format("noop").mode("overwrite").save(), 1) / 1e6
        single, moved, decided, targets = best(here, 1) / 1e6, there(plain), there(answered), there(short)
        session.stop()
    print(f"-- {count:,} rows of Parquet: a process {count / single:,.0f} a second; Spark on one core {count / decided:,.0f}")
    print(f"   Spark with a function that does nothing {count / moved:,.0f}, {single / moved:.2f} x a process; with rules {single / decided:.2f} x,")
    print(f"   and {single / targets:.2f} x where the target alone is asked for: {count / targets:,.0f} a second")


def memory() -> None:
    """Prints the resident memory of this process during 10,000 reloads of 100 routes."""
    text, _ = desk()
    pages = lambda: int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6
    print("-- memory over 10,000 reloads of 100 routes")
    for at in range(10_001):
        Rules.from_text(text).decide({"text": "topic7", "ctx": {"n": 8}})
        if at in (0, 100, 1_000, 5_000, 10_000):
            print(f"after {at:6} reloads {pages():8.1f} MB")


PARTS = {"chains": chains, "peers": peers, "forms": forms, "batches": batches, "rust": rust, "memory": memory, "cluster": cluster}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
