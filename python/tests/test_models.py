"""Models from rules, and rules checked against models."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import importlib.util
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import pydantic
import pytest

from rulec import RulecError, Rules, UnknownName, models

RULES = """
input {
  text: string
  plan?: "free" | "gold"
  price?: decimal
  ctx?: { message_count: int, at?: datetime, tags?: list<string>, labels?: dict<int>, class?: string }
}
handler files(limit: int, name?: string)
handler chat(text: string)
route files when ctx.message_count > 3 -> files(limit: ctx.message_count)
default -> chat(text: text)
## Pays an order back.
payload refund rank 1 {
  ## The order's number.
  order: string not blank
  amount: number in 0..500
  currency: string in ["EUR", "USD"] default "EUR"
  reason?: string
  closed
}
"""


@pytest.fixture(scope="module")
def rules() -> Rules:
    return Rules.from_text(RULES)


def test_payloads(rules: Rules) -> None:
    Refund = models.of_payload(rules, "refund")
    assert (Refund.__name__, Refund.__doc__) == ("Refund", "Pays an order back.")
    refund: Any = Refund(order="A", amount=2, currency="EUR")
    assert refund.model_dump() == {"order": "A", "amount": 2, "currency": "EUR"}
    assert Refund.model_fields["order"].description == "The order's number."
    for wrong in ({"order": " "}, {"amount": 500}, {"currency": "GBP"}, {"amout": 2}, {"amount": "many"}):
        with pytest.raises(pydantic.ValidationError):
            Refund(**{"order": "A", "amount": 2, "currency": "EUR", **wrong})
    assert rules.judge("refund").judge(refund).is_valid


def test_messages(rules: Rules) -> None:
    Message = models.of_input(rules)
    at = dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc)
    ctx = {"message_count": 4, "at": at, "tags": ["a"], "labels": {"x": 1}, "class": "b"}
    message: Any = Message(text="x", plan="gold", price="1.10", ctx=ctx)
    assert message.price == Decimal("1.10") and message.ctx.at == at and message.ctx.class_ == "b"
    assert message.model_dump(mode="json")["ctx"]["class"] == "b"
    decision = rules.decide(message)
    assert decision.chosen == "files" and decision.breaches == []
    assert rules.decide(Message(text="x")).args == {"text": "x"}
    for wrong in ({}, {"text": 3}, {"text": "x", "plan": "teem"}, {"text": "x", "ctx": {}}):
        with pytest.raises(pydantic.ValidationError):
            Message(**wrong)


def test_arguments_and_all_models(rules: Rules) -> None:
    made = rules.models()
    assert set(made.payloads) == {"refund"} and set(made.arguments) == {"files", "chat"}
    arguments: Any = made.arguments["files"](**rules.decide({"text": "x", "ctx": {"message_count": 4}}).args)
    assert (arguments.limit, arguments.name, made.input.__name__) == (4, None, "Message")
    with pytest.raises(UnknownName, match="the rules have no handler `fils`"):
        models.of_arguments(rules, "fils")


def test_the_command_line_writes_the_same_models(rules: Rules, tmp_path: Path) -> None:
    file = tmp_path / "desk.rules"
    file.write_text(RULES, encoding="utf-8")
    ran = subprocess.run([sys.executable, "-m", "rulec", "schema", str(file), "--pydantic"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    written = tmp_path / "desk_models.py"
    written.write_text(ran.stdout, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("desk_models", written)
    assert spec is not None and spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    sys.modules["desk_models"] = module
    spec.loader.exec_module(module)
    made = rules.models()
    ctx = {"message_count": 4, "at": "2026-01-01T00:00:00Z", "tags": ["a"], "labels": {"x": 1}, "class": "b"}
    refund = {"order": "A", "amount": 2, "currency": "EUR"}
    cases: list[tuple[Any, Any, dict[str, Any], list[dict[str, Any]]]] = [
        (module.Message, made.input, {"text": "x", "plan": "gold", "price": "1.10", "ctx": ctx}, [{"text": 3}, {"plan": "teem"}]),
        (module.Refund, made.payloads["refund"], refund, [{"order": " "}, {"amount": 500}, {"currency": "GBP"}, {"amout": 2}]),
        (module.FilesArguments, made.arguments["files"], {"limit": 4}, [{"limit": "many"}, {"other": 1}]),
    ]
    for from_source, at_run_time, values, mistakes in cases:
        assert from_source.__doc__ == at_run_time.__doc__
        assert from_source(**values).model_dump() == at_run_time(**values).model_dump()
        for wrong in mistakes:
            with pytest.raises(pydantic.ValidationError):
                from_source(**{**values, **wrong})
    assert subprocess.run([sys.executable, "-m", "mypy", "--strict", str(written)], capture_output=True).returncode == 0


def test_private_values_are_not_shown() -> None:
    schema = {"type": "object", "properties": {"phone": {"type": "string", "writeOnly": True}}, "required": ["phone"]}
    model = models._model("User", schema)  # pyright: ignore[reportPrivateUsage]
    assert repr(model(phone="555")) == "User()"


class Plan(enum.Enum):
    FREE = "free"
    GOLD = "gold"


class Context(pydantic.BaseModel):
    message_count: int
    at: dt.datetime | None = None
    tags: list[str] = []


class Fits(pydantic.BaseModel):
    text: str
    plan: Plan | None = None
    ctx: Context | None = None
    other: dict[str, Any] = {}


@dataclasses.dataclass
class FitsToo:
    text: str
    plan: Literal["free"] = "free"


class Misspelt(pydantic.BaseModel):
    text: str
    ctx: Misspelt.Inner

    class Inner(pydantic.BaseModel):
        mesage_count: int
        tags: list[int]


@dataclasses.dataclass
class Wrong:
    plan: Literal["free", "team"]
    price: bool


def test_models_that_fit(rules: Rules) -> None:
    for model in (Fits, FitsToo, models.of_input(rules)):
        assert models.check(rules, model) is rules
    models.check(rules, models.of_payload(rules, "refund"), kind="refund")
    models.check(rules, models.of_arguments(rules, "files"), handler="files")


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (Misspelt, ["`ctx.mesage_count`, but `input` has `ctx.message_count`: rename", "`ctx.tags[]` is integer in `Misspelt`"]),
        (Wrong, ["`input` requires `text`, which `Wrong` does not have", "`plan` may be 'team'", "`price` is boolean in `Wrong`"]),
    ],
)
def test_models_that_do_not_fit(rules: Rules, model: Any, words: list[str]) -> None:
    with pytest.raises(RulecError) as raised:
        models.check(rules, model)
    lines = str(raised.value).splitlines()
    assert lines[0] == f"`{model.__name__}` does not fit `input` of the rules:" and len(lines) == 1 + len(words)
    assert all(any(one in line for line in lines) for one in words), lines


@dataclasses.dataclass
class Listing:
    limit: str
    page: int


def test_handlers_and_payloads_that_do_not_fit(rules: Rules) -> None:
    with pytest.raises(RulecError) as raised:
        models.check(rules, Listing, handler="files")
    text = str(raised.value)
    assert "`limit` is integer in handler `files`, but string in `Listing`" in text
    assert "`Listing` requires `page`, which handler `files` does not have" in text
    with pytest.raises(RulecError, match="`Listing` has `limit`, which payload `refund` does not take"):
        models.check(rules, Listing, kind="refund")
