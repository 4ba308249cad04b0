"""Compares the answers of all interfaces to the same generated messages, byte for byte.

``python bench/equality.py COUNT [WAY …]`` writes COUNT messages into a temporary folder, as JSON
lines and as Parquet. Each way answers all of them: the program ``rulec``, Python, DataFusion and
Spark. All ways must give the same number of answers, and the same sum of the answers' digests. A
lost, doubled or different answer changes this sum.

Three environment variables are read. ``RULEC`` is the path of the program, built with the feature
``columns``. ``ANSWER_LINES`` is the path of the example ``answer_lines`` of ``crates/datafusion``.
``RULEC_FOLDER`` is a folder for the messages in place of the temporary one; it is kept.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from executors import killing, session
from generate import RULES, messages

from rulec import Rules, batch

FIELDS = ("text", "n", "ctx")
PART = 250_000


class Sum:
    """The number of answers, and the sum of their digests, which include the line numbers."""

    def __init__(self) -> None:
        self.count, self.digests = 0, 0

    def add(self, number: int, answer: bytes) -> None:
        digest = blake2b(b"%d,%b" % (number, answer), digest_size=16).digest()
        self.digests = (self.digests + int.from_bytes(digest, "big")) % (1 << 128)
        self.count += 1

    def lines(self, lines: Iterable[bytes], before: int = 0) -> Sum:
        """Adds lines of ``rulec run``; ``before`` is added to their line numbers."""
        for line in lines:
            number, answer = line.split(b",", 1)
            self.add(int(number.removeprefix(b'{"line":')) + before, answer.rstrip())
        return self


def generate(folder: Path, count: int) -> None:
    source, kind = messages(count, seed=int(os.environ.get("RULEC_SEED", "18"))), pa.json_()
    with (folder / "messages.jsonl").open("w") as lines:
        for start in range(0, count, PART):
            columns: dict[str, list[Any]] = {name: [] for name in ("id", *FIELDS)}
            for at in range(start, min(start + PART, count)):
                message = next(source)
                lines.write(json.dumps(message) + "\n")
                columns["id"].append(at)
                for name in FIELDS:
                    columns[name].append(json.dumps(message[name]) if name in message else None)
            arrays = [pa.array(columns["id"]), *(pa.ExtensionArray.from_storage(kind, pa.array(columns[name], pa.string())) for name in FIELDS)]
            parquet.write_table(pa.table(arrays, names=list(columns)), parts(folder) / f"part-{start // PART:05}.parquet", row_group_size=50_000)
    (folder / "equal.rules").write_text(RULES)


def parts(folder: Path) -> Path:
    (folder / "parts").mkdir(exist_ok=True)
    return folder / "parts"


def ran(*command: str | Path) -> Iterator[bytes]:
    with subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        yield from process.stdout
    assert process.returncode == 0, command


def json_lines(folder: Path) -> Sum:
    return Sum().lines(ran(os.environ["RULEC"], "run", folder / "equal.rules", folder / "messages.jsonl"))


def columns(folder: Path) -> Sum:
    found = Sum()
    for part in sorted(parts(folder).iterdir()):
        found.lines(ran(os.environ["RULEC"], "run", folder / "equal.rules", part), before=found.count)
    return found


def dicts(folder: Path) -> Sum:
    rules, found = Rules.from_path(folder / "equal.rules"), Sum()
    with (folder / "messages.jsonl").open("rb") as lines:
        for number, line in enumerate(lines, 1):
            found.add(number, rules.decide(json.loads(line)).to_json()[1:].encode())
    return found


def batches(folder: Path) -> Sum:
    rules, found = Rules.from_path(folder / "equal.rules"), Sum()
    for part in sorted(parts(folder).iterdir()):
        with parquet.ParquetFile(part) as file:
            bound = batch.bind(rules, file.schema_arrow)
            for one in file.iter_batches(10_000):
                found.lines(batch.lines(bound.answer(one)).splitlines(), before=found.count)
    return found


def datafusion(folder: Path) -> Sum:
    return Sum().lines(ran(os.environ["ANSWER_LINES"], folder / "equal.rules", parts(folder), "routes"))


def typed(array: Any, wanted: Any) -> Any:
    """Converts an array of a cluster to the type ``wanted`` that the answers had before.

    Clusters store dictionaries and extension types as plain types; see ``rulec._cluster.plain``.
    """
    if isinstance(wanted, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(wanted, array)
    if pa.types.is_struct(wanted):
        fields = [typed(array.field(at), field.type) for at, field in enumerate(wanted)]
        return pa.StructArray.from_arrays(fields, fields=list(wanted), mask=array.is_null())
    if pa.types.is_list(wanted):
        return pa.ListArray.from_arrays(array.offsets, typed(array.values, wanted.value_type), type=wanted, mask=array.is_null())
    return array.dictionary_encode().cast(wanted) if pa.types.is_dictionary(wanted) else array.cast(wanted)


def spark(folder: Path) -> Sum:
    """Answers by Spark with several executors, one of which is killed during the job."""
    from rulec import spark as clusters

    started = session(sql__files__maxPartitionBytes="16m")
    rules, killed = Rules.from_path(folder / "equal.rules"), folder / "killed"
    frame = started.read.parquet(str(parts(folder)))
    answers = batch.bind(rules, pa.schema([("id", pa.int64()), *((name, pa.string()) for name in FIELDS)]), json=FIELDS).schema

    def summed(given: Iterable[Any]) -> Iterator[Any]:
        found = Sum()
        for one in given:
            decided = typed(one.column(1), pa.struct(list(answers)))
            lines = batch.lines(pa.RecordBatch.from_arrays(decided.flatten(), schema=answers)).splitlines()
            for at, line in zip(one.column(0).to_pylist(), lines, strict=True):
                found.add(at + 1, line.split(b",", 1)[1])
        yield pa.record_batch({"count": [found.count], "digests": [str(found.digests)]})

    broken = frame.mapInArrow(killing(killed), frame.schema)
    answered = clusters.decide(broken, rules, json=FIELDS).select("id", "decision")
    found = Sum()
    for row in answered.mapInArrow(summed, "count long, digests string").collect():
        found.count += row["count"]
        found.digests = (found.digests + int(row["digests"])) % (1 << 128)
    started.stop()
    assert killed.exists(), "an executor was killed on the way"
    killed.unlink()
    return found


WAYS = {"lines": json_lines, "columns": columns, "dicts": dicts, "batches": batches, "datafusion": datafusion, "spark": spark}


def main() -> None:
    count, ways = int(sys.argv[1]), sys.argv[2:] or list(WAYS)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(os.environ.get("RULEC_FOLDER", temporary))
        if not (folder / "equal.rules").exists():
            generate(folder, count)
        first: Sum | None = None
        for way in ways:
            start = time.monotonic()
            found = WAYS[way](folder)
            print(f"{way:12} {found.count:12,} answers  {found.digests:032x}  {time.monotonic() - start:8.1f} s", flush=True)
            first = first or found
            assert (found.count, found.digests) == (count, first.digests), f"{way} answers otherwise than {ways[0]}"
    print(f"all {len(ways)} ways answer alike")


if __name__ == "__main__":
    main()
