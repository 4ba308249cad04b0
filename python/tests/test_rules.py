"""Rules, decisions, and messages of every supported type."""

from __future__ import annotations

import copy
import dataclasses
import datetime as dt
import decimal
import enum
import json
import pickle
import uuid
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pydantic
import pytest

import rulec
from rulec import CompileError, Diagnostic, MessageError, Rules, UnknownName

DESK = """
input {
  text: string
  ctx?: { message_count?: int, user?: { role: string, phone?: string @private }, at?: datetime, tags?: list<string>, vip?: bool }
}
## Lists files for the user.
route show_files priority 100
  when text contains any ["show", "list"] and ctx.message_count > 3
  -> file_handler(limit: ctx.message_count * 2) { type: "file_operation" }
route vip when ctx.vip -> vip_handler(role: ctx.user.role ?? "none")
route tagged when ctx.tags contains "red" -> tag_handler
route late when hour(ctx.at) >= 18 -> night_handler
route money when text contains "refund" -> goto billing
default -> chat
table billing { route refund when text contains "now" -> refund_handler  default -> billing_handler }
"""


@pytest.fixture(scope="module")
def desk() -> Rules:
    return Rules.from_text(DESK)


def test_a_decision_says_all_that_it_holds(desk: Rules) -> None:
    decision = desk.decide({"text": "show it", "ctx": {"message_count": 4}})
    assert (decision.entry, decision.chosen, decision.target) == ("routes", "show_files", "file_handler")
    assert decision.args == {"limit": 8} and decision.metadata == {"type": "file_operation"}
    assert not decision.is_default and decision.path == ["routes"] and decision.requires == []
    assert json.loads(decision.to_json()) == decision.to_dict()
    assert decision == desk.decide({"ctx": {"message_count": 4}, "text": "show it"})
    assert decision != desk.decide({"text": "hello"}) and decision != object()
    assert hash(decision) == hash(desk.decide({"text": "show it", "ctx": {"message_count": 4}}))
    jumped = desk.decide({"text": "refund now"})
    assert jumped.path == ["routes", "billing"] and jumped.chosen == "refund"
    assert desk.decide({"text": "refund now"}, entry="billing").path == ["billing"]
    assert desk.matched({"text": "show refund", "ctx": {"message_count": 9}}) == ["show_files", "money"]
    assert desk.targets[0] == "billing_handler" and desk.entries == ["routes", "billing"]


class Role(enum.Enum):
    ADMIN = "admin"


@dataclasses.dataclass
class User:
    role: Role


@dataclasses.dataclass
class Context:
    vip: bool
    user: User


@dataclasses.dataclass
class Message:
    text: str
    ctx: Context


class ModelContext(pydantic.BaseModel):
    message_count: int
    at: dt.datetime | None = None


class Model(pydantic.BaseModel):
    text: str
    ctx: ModelContext


def test_dataclasses_and_models_are_messages(desk: Rules) -> None:
    decision = desk.decide(Message("hello", Context(True, User(Role.ADMIN))))
    assert decision.target == "vip_handler" and decision.args == {"role": "admin"}
    assert desk.decide(Model(text="list", ctx=ModelContext(message_count=5))).chosen == "show_files"
    late = Model(text="x", ctx=ModelContext(message_count=1, at=dt.datetime(2026, 1, 1, 20, tzinfo=dt.timezone.utc)))
    assert desk.decide(late).chosen == "late"
    # Models and dataclasses inside a dict are converted too.
    assert desk.decide({"text": "list", "ctx": ModelContext(message_count=5)}).chosen == "show_files"
    assert desk.decide({"text": "x", "ctx": Context(True, User(Role.ADMIN))}).chosen == "vip"


@pytest.mark.parametrize(
    ("value", "json_value"),
    [
        (dt.datetime(2026, 1, 1, 20, tzinfo=dt.timezone.utc), "2026-01-01T20:00:00+00:00"),
        (dt.date(2026, 1, 1), "2026-01-01"),
        (uuid.UUID(int=7), "00000000-0000-0000-0000-000000000007"),
        (Path("/a/b"), "/a/b"),
        (decimal.Decimal("1.5"), 1.5),
        (Role.ADMIN, "admin"),
        ((1, 2), [1, 2]),
        (frozenset({"a"}), ["a"]),
        (OrderedDict(a=1), {"a": 1}),
        (2**63 - 1, 2**63 - 1),
        (2**63, 2**63),
        (2**70, float(2**70)),
        (True, True),
        ([None, {"a": [1.5]}], [None, {"a": [1.5]}]),
    ],
)
def test_what_stands_for_json(value: Any, json_value: Any) -> None:
    echo = Rules.from_text("input { x?: any }\ndefault -> echo(x: x)")
    assert echo.decide({"x": value}).args.get("x") == json_value
    assert echo.prepare({"x": value}).to_dict() == {"x": json_value}


def test_decimals_keep_their_digits() -> None:
    rules = Rules.from_text("""
        input { price: decimal, count: int, rate?: any, parts?: list<decimal> }
        handler pay(due: decimal, parts?: list<decimal>, rate?: any)
        route due when price * count == 0.3 -> pay(due: price * count, parts: parts, rate: rate)
        default -> pay(due: price)
    """)
    tenth = decimal.Decimal("0.1")
    decision = rules.decide({"price": tenth, "count": 3, "rate": tenth, "parts": [tenth, 2]})
    assert decision.chosen == "due"
    assert decision.args == {"due": decimal.Decimal("0.3"), "parts": [tenth, decimal.Decimal(2)], "rate": 0.1}
    assert [type(value) for value in decision.args["parts"]] == [decimal.Decimal] * 2
    assert type(decision.args["rate"]) is float
    long = decimal.Decimal("1234567890123456.789012345678")
    decision = rules.decide({"price": long, "count": 1})
    assert decision.args == {"due": long}
    assert decision.to_dict()["args"] == {"due": str(long)}


def nested(depth: int) -> dict[str, Any]:
    message: dict[str, Any] = {"text": "x"}
    for _ in range(depth):
        message = {"ctx": message}
    return message


def recursive() -> dict[str, Any]:
    message: dict[str, Any] = {"text": "x"}
    message["ctx"] = message
    return message


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"text": object()}, "`text` is a value of type `object`"),
        ({"ctx": {"user": [1, b"x"]}}, "`ctx.user[1]` is a value of type `bytes`"),
        ({"ctx": {1: 2}}, "`ctx` has a key of type `int`"),
        ({"at": dt.datetime(2026, 1, 1)}, "`at` is a time without a time zone"),
        ({"text": "\ud800"}, "`text` is a text with half a surrogate pair"),
        ({"n": 10**400}, "`n` is a number beyond the range"),
        (recursive(), "deeper than 128"),
        (nested(200), "deeper than 128"),
        ([1], "a message has fields"),
        ("text", "JSON text goes to `decide_json`"),
        (7, "a message has fields"),
        (Model, "the message is a value of type"),
    ],
)
def test_what_is_no_message_says_where(desk: Rules, message: Any, words: str) -> None:
    with pytest.raises(MessageError) as error:
        desk.decide(message)
    assert words in str(error.value)


def test_the_depth_of_json_is_the_depth_of_dicts(desk: Rules) -> None:
    # The JSON reader allows 128 levels, the outermost included.
    deep = nested(127)
    assert desk.decide(deep) == desk.decide_json(json.dumps(deep))
    deeper = nested(128)
    with pytest.raises(MessageError):
        desk.decide(deeper)
    with pytest.raises(MessageError):
        desk.decide_json(json.dumps(deeper))


def test_a_value_that_changes_the_dict_it_stands_in(desk: Rules) -> None:
    """Reading a value may run Python code, which may change the message."""
    message: dict[str, Any] = {}

    class Evil:
        def model_dump(self, *, mode: str = "python") -> dict[str, Any]:
            message.clear()
            message.update({str(n): n for n in range(100)})
            return {"message_count": 9}

    message.update(text="show", ctx=Evil(), last=1)
    assert desk.decide(message).chosen == "show_files"


def test_an_exception_in_a_message_is_the_callers(desk: Rules) -> None:
    class Broken:
        def model_dump(self, *, mode: str = "python") -> dict[str, Any]:
            raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        desk.decide(Broken())


def test_breaches_are_told(desk: Rules) -> None:
    decision = desk.decide({"text": 7})
    assert decision.is_default and decision.breaches[0]["path"] == "text"


def test_many(desk: Rules) -> None:
    decisions = desk.decide_many({"text": text} for text in ["refund", "hello"])
    assert [decision.chosen for decision in decisions] == ["default", "default"]
    assert [decision.target for decision in decisions] == ["billing_handler", "chat"]
    with pytest.raises(MessageError, match="message 1: `text`"):
        desk.decide_many([{"text": "a"}, {"text": object()}])

    def fails() -> Any:
        yield {"text": "a"}
        raise KeyError("source")

    with pytest.raises(KeyError, match="source"):
        desk.decide_many(fails())


def test_a_message_that_is_prepared(desk: Rules) -> None:
    prepared = desk.prepare({"text": "refund now", "ctx": {"message_count": 1}})
    assert desk.decide(prepared).chosen == "refund" and desk.decide(prepared, entry="billing").chosen == "refund"
    # Other rules read the message again.
    assert Rules.from_text('route a when text contains "now" -> h').decide(prepared).chosen == "a"
    assert desk.explain(prepared).chosen == "refund"


def test_explanations(desk: Rules) -> None:
    why = desk.explain({"text": "show", "ctx": {"user": {"role": "x", "phone": "123"}}})
    assert "ctx.message_count is missing" in str(why) and why.chosen == "default"
    assert why.to_dict()["trace"]["chose"] and json.loads(why.to_json())["chosen"] == "default"
    assert why.summary()


def test_json_text(desk: Rules) -> None:
    assert desk.decide_json('{"text": "refund"}') == desk.decide_json(b'{"text": "refund"}')
    with pytest.raises(MessageError, match="line 1"):
        desk.decide_json('{"text": 1, "text": 2}')
    with pytest.raises(TypeError):
        desk.decide_json(7)  # type: ignore[arg-type]


def test_errors_are_text_and_data() -> None:
    with pytest.raises(CompileError) as raised:
        Rules.from_text("let a = 1\nlet a = 2")
    error = raised.value
    [found] = error.diagnostics
    assert isinstance(found, Diagnostic) and (found.severity, found.line, found.column) == ("error", 2, 5)
    assert found.file == "<text>" and found.code.startswith("E") and "2 │ let a = 2" in error.rendered
    assert str(error) == error.rendered
    data = found.to_dict()
    assert data["end_column"] == 6 and len(data["labels"]) == 2 and data["fixes"] == []
    assert isinstance(error, rulec.RulecError)


def test_files(tmp_path: Path, desk: Rules) -> None:
    (tmp_path / "words.txt").write_text("alpha\nbeta\n")
    main = tmp_path / "main.rules"
    main.write_text('list words = from "words.txt"\nroute a when text contains any words -> h\ndefault -> z')
    rules = Rules.from_path(main)
    assert rules.decide({"text": "beta"}).chosen == "a"
    assert Rules.from_path(str(main), root=tmp_path).decide({"text": "beta"}).chosen == "a"
    with pytest.raises(CompileError, match="cannot be read"):
        Rules.from_path(tmp_path / "missing.rules")
    imports = {"lib.rules": "list words = [\"alpha\"]"}
    imported = Rules.from_text('import "lib.rules"\nroute a when text contains any words -> h', imports=imports)
    assert imported.decide({"text": "alpha"}).chosen == "a"
    artifact = rules.to_artifact()
    (tmp_path / "main.rulec").write_bytes(artifact)
    for loaded in [Rules.from_artifact(artifact), Rules.from_artifact(tmp_path / "main.rulec")]:
        assert loaded.decide({"text": "beta"}) == rules.decide({"text": "beta"})
    with pytest.raises(CompileError, match="cannot be loaded"):
        Rules.from_artifact(b"nonsense")
    assert len(desk.to_artifact(strip_source=True)) < len(desk.to_artifact())


def shout(text: str) -> str:
    return text.upper()


def test_pickles_and_copies(desk: Rules) -> None:
    loaded = pickle.loads(pickle.dumps(desk))
    assert loaded.decide({"text": "refund"}) == desk.decide({"text": "refund"})
    assert pickle.loads(pickle.dumps(desk)) is loaded, "a process loads an artifact once"
    assert copy.copy(desk).decide({"text": "refund"}).chosen == "default"
    rules = Rules.from_text(
        'extern fn shout(t: string) -> string\nroute a when shout(text) == "X" -> h', functions={"shout": shout}
    )
    assert pickle.loads(pickle.dumps(rules)).decide({"text": "x"}).chosen == "a"


def test_names_that_there_are_not(desk: Rules) -> None:
    with pytest.raises(UnknownName, match="did you mean `billing`"):
        desk.decide({"text": "x"}, entry="biling")
    with pytest.raises(UnknownName):
        desk.judge("nothing")
    with pytest.raises(UnknownName):
        desk.choice_tool("nothing")


def test_choices_flows_and_routers() -> None:
    rules = Rules.from_text(
        """
        choice mood ask "how does the customer feel?" to_user { branch angry "furious"  default branch calm }
        choice size { default branch small  branch large { total as number >= 100 } }
        flow hello keyword exact ["hello", "你好"] -> "greeting"
        flow refund "gives money back" intent ["I want my money back", "return my money"] -> "refund_v2"
        flow status "says where an order is" intent ["where is my parcel", "track my order"] -> "status"
        router next(output) { when output.score as number > 3 -> good  otherwise -> bad }
        """
    )
    answered = rules.decide({"answers": {"mood": "angry"}}, entry="mood")
    assert answered.branch == "angry" and answered.to_user and not answered.is_default
    assert rules.decide({"total": 200}, entry="size").branch == "large"
    assert rules.decide({}, entry="size").is_default
    assert rules.reasons("size", {"total": 7})[0].startswith("`large` is not chosen")
    question = rules.question("mood")
    assert question.branches == ["angry", "calm"] and question.default_branch == "calm" and question.to_user
    assert question.text in question.prompt and question.tool["function"]["name"] == "choose_branch"
    assert question.known({"text": "x", "n": 1}) == '{"n":1}' and [one.name for one in rules.questions] == ["mood"]
    assert rules.choices == ["mood", "size"] and rules.choice_tool("size")["function"]["name"] == "size"
    worded = Rules.from_text(
        'settings { flow_prompt: "意图：\\n{flows}", choice_prompt: "问：{question}" }'
        'flow a "退款" intent ["退钱"] -> "refund"  choice mood ask "如何？" { default branch calm }'
    )
    assert worded.flows().prompt == "意图：\n- `refund`: 退款\n"
    assert worded.question("mood").prompt == "问：如何？\n"
    found = rules.flows()
    keyword = found.find(" 你好 ")
    assert keyword is not None and (keyword.id, keyword.pattern, keyword.score) == ("greeting", "你好", None)
    intent = found.find("please return my money back")
    assert intent is not None and intent.id == "refund_v2" and intent.score is not None and intent.score > 0
    assert found.find("who wrote hamlet") is None and isinstance(found.nearest("who wrote hamlet"), list)
    assert "`status`" in found.prompt and found.intents == ["refund_v2", "status"]
    assert rules.decide({"text": "hello"}, entry="flows").flow == "greeting"
    routed = rules.decide({"output": {"score": 4}}, entry="next")
    assert routed.next == ["good"] and not routed.loopback


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="asks Linux for the pages")
def test_reloading_keeps_no_memory() -> None:
    def pages() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

    def reload(times: int) -> None:
        for _ in range(times):
            loaded = Rules.from_text(DESK)
            loaded.decide({"text": "show", "ctx": {"message_count": 4}})
            with pytest.raises(CompileError):
                Rules.from_text("route")

    reload(300)
    before = pages()
    reload(1000)
    assert pages() - before < 4_000_000


def test_a_text_is_analysed_as_a_record() -> None:
    rules = Rules.from_text("""
        input { text: string, ctx?: { n?: int } }
        intent refund { examples ["I want my money back", "please return my payment"] }
        entity order matches r"订单(?<id>[0-9]+)"
        let context_score = min(ctx.n / 10, 1)
        default -> chat
    """)
    text = "请看订单42和订单7，尽快"
    record = rules.analyze(text, {"n": 4})
    orders = [one for one in record["entities"] if one["name"] == "order"]
    assert [(one["value"], one["fields"]) for one in orders] == [("订单42", {"id": "42"}), ("订单7", {"id": "7"})]
    assert all(text[one["start"] : one["end"]] == one["value"] for one in record["entities"])
    assert (record["intent"], record["urgency"], record["context_score"]) == (None, 1.0, 0.4)
    assert rules.analyze("I want my money back")["intent"] == "refund"
