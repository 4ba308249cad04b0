"""Measures the times of the package, and of other ways to the same answers, in one run.

``python bench/measure.py [PART …]`` prints times and ratios. The section "What it costs" of ``docs/python.md`` has the
commands that build the package for it. The part ``rust`` needs the environment variable ``TIMED``, the path of the
example ``timed`` of ``crates/arrow``; ``cluster`` needs Spark and Java.
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
    """Measures conditions that other rule engines can express too, over messages of every rule."""
    for count in (10, ROUTES):
        conditions = [(f'ctx.n > {at * 10} and ctx.plan == "p{at}"', f"h{at}") for at in range(count)]
        messages = [{"text": "hello", "ctx": {"n": at * 10 + 5, "plan": f"p{at}"}} for at in range(count)]
        expected = [f"h{at}" for at in range(count)]
        routes = [f"route r{at} when {when} -> {to}" for at, (when, to) in enumerate(conditions)]
        rules = Rules.from_text("\n".join([*routes, "default -> z"]))
        print(f"-- {count} conditions over a number and a text; {count} messages, one for each condition")
        own = timed_answers("rulec", lambda message: rules.decide(message).target, messages, expected)
        if importlib.util.find_spec("zen"):
            timed_answers("zen-engine, a decision table", zen_table(count), messages, expected, own)
        if importlib.util.find_spec("celpy"):
            timed_answers("cel-python, compiled", cel_python(conditions), messages, expected, own)
        if importlib.util.find_spec("cel"):
            timed_answers("common-expression-language", common_expressions(conditions), messages, expected, own)


def timed_answers(
    name: str,
    answer: Callable[[dict[str, Any]], str],
    messages: list[dict[str, Any]],
    expected: list[str],
    own: float | None = None,
) -> float:
    """Prints and returns the time of one answer in microseconds, and its ratio to ``own``."""
    assert [answer(message) for message in messages] == expected, name
    rounds = 500 if own is None else 1
    time_of_one = best(lambda: [answer(message) for message in messages], rounds) / len(messages)
    print(f"{name:34} {time_of_one:10.2f} us" + ("" if own is None else f"  {time_of_one / own:9.1f} x"))
    return time_of_one


def zen_table(count: int) -> Callable[[dict[str, Any]], str]:
    import zen

    table = {
        "nodes": [
            {"id": "in", "type": "inputNode", "name": "in", "position": {"x": 0, "y": 0}},
            {"id": "t", "type": "decisionTableNode", "name": "t", "position": {"x": 0, "y": 0}, "content": {
                "hitPolicy": "first",
                "inputs": [{"id": "n", "type": "expression", "field": "ctx.n", "name": "n"}, {"id": "p", "type": "expression", "field": "ctx.plan", "name": "p"}],
                "outputs": [{"id": "to", "type": "expression", "field": "to", "name": "to"}],
                "rules": [{"_id": f"r{at}", "n": f"> {at * 10}", "p": f'"p{at}"', "to": f'"h{at}"'} for at in range(count)],
            }},
            {"id": "out", "type": "outputNode", "name": "out", "position": {"x": 0, "y": 0}},
        ],
        "edges": [
            {"id": "1", "sourceId": "in", "targetId": "t", "type": "edge"},
            {"id": "2", "sourceId": "t", "targetId": "out", "type": "edge"},
        ],
    }
    decision = zen.ZenEngine().create_decision(json.dumps(table))
    return lambda message: decision.evaluate(message)["result"].get("to", "z")


def cel_python(conditions: list[tuple[str, str]]) -> Callable[[dict[str, Any]], str]:
    import celpy

    environment = celpy.Environment(runner_class=celpy.CompiledRunner)
    programs = [(environment.program(environment.compile(when.replace(" and ", " && "))), to) for when, to in conditions]

    def answer(message: dict[str, Any]) -> str:
        context = {"ctx": celpy.json_to_cel(message["ctx"])}
        return next((to for program, to in programs if program.evaluate(context)), "z")

    return answer


def common_expressions(conditions: list[tuple[str, str]]) -> Callable[[dict[str, Any]], str]:
    import cel

    programs = [(cel.compile(when.replace(" and ", " && ")), to) for when, to in conditions]

    def answer(message: dict[str, Any]) -> str:
        context = cel.Context(message)
        return next((to for program, to in programs if program.execute(context)), "z")

    return answer


def bench_of_rust(rules: str, lines: list[str]) -> float:
    """Returns the time of one decision of JSON text in Rust in microseconds: ``rulec bench``."""
    import subprocess

    with tempfile.TemporaryDirectory() as folder:
        file, messages = Path(folder, "desk.rules"), Path(folder, "messages.jsonl")
        file.write_text(rules)
        messages.write_text("\n".join(lines) + "\n")
        command = [sys.executable, "-m", "rulec", "bench", str(file), str(messages), "--format", "json", "--seconds", "2"]
        measured = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return float(json.loads(measured)["mean_ns"]) / 1e3


def single() -> None:
    """Measures one message and one route: what a call costs, without a function around it."""
    import asyncio
    import timeit

    from rulec import Request, Router

    text = "route big when n > 9 -> many\ndefault -> few"
    rules, message = Rules.from_text(text), {"n": 12, "text": "hello", "user": "ann"}
    line, session = json.dumps(message), rules.session()
    prepared = rules.prepare(message)
    print("-- one message, one route")
    names = {"rules": rules, "session": session, "message": message, "prepared": prepared, "line": line}
    for call in [
        "rules.decide(message)",
        "rules.decide(message).target",
        "session.decide(message)",
        "rules.decide(prepared)",
        "rules.decide_json(line)",
        "session.decide_json(line)",
    ]:
        rounds = timeit.repeat(call, globals=names, number=200_000, repeat=5)
        print(f"{call:34} {min(rounds) / 200_000 * 1e6:8.3f} us")
    print(f"{'the same text in Rust, a session':34} {bench_of_rust(text, [line] * 1000):8.3f} us")

    async def many(request: Request) -> int:
        return 1

    async def measure() -> tuple[float, float]:
        router, request, count = Router(rules, {"many": many, "few": many}), Any, 20_000
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(5):
            start = time.perf_counter()
            for _ in range(count):
                await router.route(message)
            times[0].append((time.perf_counter() - start) / count)
            start = time.perf_counter()
            for _ in range(count):
                await many(request)  # type: ignore[arg-type]
            times[1].append((time.perf_counter() - start) / count)
        return min(times[0]) * 1e6, min(times[1]) * 1e6

    whole, handler = asyncio.run(measure())
    print(f"{'await router.route(dict)':34} {whole:8.2f} us, {whole - handler:.2f} us over the handler's own time")


def threads() -> None:
    """Measures how decisions of JSON text scale with threads."""
    from generate import RULES, messages

    rules = Rules.from_text(RULES)
    texts = [json.dumps(row) for row in messages(100_000, seed=3)]
    alone = best(lambda: rules.decide_json_many(texts), 1)
    print(f"-- {len(texts):,} JSON texts: {len(texts) / alone:8.2f} million a second on one thread")
    for count in (2, 4):
        several = best(lambda: rules.decide_json_many(texts, threads=count), 1)
        print(f"{count} threads {len(texts) / several:24.2f} million a second  {alone / several:7.2f} x")


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
    print(f"{'the same texts in Rust':34} {bench_of_rust(RULES, texts):8.2f} us")


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


PARTS = {"chains": chains, "peers": peers, "single": single, "forms": forms, "threads": threads, "batches": batches, "rust": rust, "memory": memory, "cluster": cluster}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
