"""The native half of the package. JSON values are `Any`, because the rules define their types."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, ClassVar, Protocol, TypeAlias, final

__all__ = [
    "Columns",
    "ColumnsMismatch",
    "CompileError",
    "Condition",
    "Decision",
    "Diagnostic",
    "Edit",
    "Explanation",
    "Finding",
    "Finished",
    "FlowHit",
    "Flows",
    "Judge",
    "Judgement",
    "LiveRules",
    "MessageError",
    "Outcome",
    "Policy",
    "Prepared",
    "Question",
    "ReportItem",
    "Request",
    "Router",
    "RouterError",
    "RulecError",
    "Rules",
    "TestResult",
    "UnknownName",
    "Violation",
    "WatchStatus",
    "WatchedRules",
    "command_line",
    "end",
    "json_lines",
]

class _Dataclass(Protocol):
    __dataclass_fields__: ClassVar[dict[str, Any]]

class _Model(Protocol):
    def model_dump(self, *, mode: str = ...) -> dict[str, Any]: ...

_Message: TypeAlias = Mapping[str, Any] | _Dataclass | _Model

def command_line(args: Sequence[str]) -> int: ...
def end() -> None: ...

class RulecError(Exception):
    """An error of this package.

    >>> try:
    ...     Rules.from_text("default -> chat").flows()
    ... except RulecError as error:
    ...     print(type(error).__name__)
    RulecError
    """


class CompileError(RulecError):
    """Rules that do not compile, with everything that is wrong with them.

    >>> try:
    ...     Rules.from_text("let a = 1 let a = 2")
    ... except CompileError as error:
    ...     print([found.code for found in error.diagnostics])
    ['E0203']
    """

    diagnostics: list[Diagnostic]
    rendered: str

class RouterError(RulecError):
    """A router that cannot be made, such as one without a handler that the rules name.

    >>> try:
    ...     Router(Rules.from_text("default -> chat"), {})
    ... except RouterError as error:
    ...     print("`chat`" in str(error))
    True
    """

class ColumnsMismatch(RulecError):
    """A column that the rules read, and that is missing or has a type that they cannot read.

    >>> import pyarrow
    >>> try:
    ...     Columns.of_rules(Rules.from_text("route big when n > 9 -> many"), pyarrow.schema([("m", pyarrow.int64())]))
    ... except ColumnsMismatch as error:
    ...     print(str(error).split(";")[0])
    the rules read `n`, but there is no such column
    """

class MessageError(RulecError, ValueError):
    """A message that has no form in JSON, with the path of the value.

    >>> try:
    ...     Rules.from_text("default -> chat").decide({"user": {"id": object()}})
    ... except MessageError as error:
    ...     print(str(error).split(",")[0])
    `user.id` is a value of type `object`
    """

class UnknownName(RulecError, LookupError):
    """A name that the rules do not have, with the nearest name.

    >>> try:
    ...     Rules.from_text("table billing { default -> h }").decide({}, entry="biling")
    ... except UnknownName as error:
    ...     print("did you mean `billing`" in str(error))
    True
    """


@final
class Diagnostic:
    """An error or a warning about the text of rules.

    >>> try:
    ...     Rules.from_text("let a = 1 let a = 2")
    ... except CompileError as error:
    ...     [found] = error.diagnostics
    >>> found.code, found.severity, found.line, found.column
    ('E0203', 'error', 1, 15)
    """

    @property
    def code(self) -> str: ...
    @property
    def severity(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def help(self) -> str | None: ...
    @property
    def rendered(self) -> str: ...
    @property
    def file(self) -> str | None: ...
    @property
    def line(self) -> int | None: ...
    @property
    def column(self) -> int | None: ...
    def to_dict(self) -> dict[str, Any]: ...

@final
class Decision:
    """A decision. It stays valid after its rules are replaced.

    >>> decision = Rules.from_text("route big when n > 9 -> many(n: n)").decide({"n": 12})
    >>> decision.chosen, decision.target, decision.args
    ('big', 'many', {'n': 12})
    """

    @property
    def entry(self) -> str: ...
    @property
    def chosen(self) -> str | None: ...
    @property
    def target(self) -> str | None: ...
    @property
    def is_default(self) -> bool: ...
    @property
    def args(self) -> dict[str, Any]: ...
    @property
    def metadata(self) -> dict[str, Any]: ...
    @property
    def requires(self) -> list[str]: ...
    @property
    def path(self) -> list[str]: ...
    @property
    def branch(self) -> str | None: ...
    @property
    def to_user(self) -> bool: ...
    @property
    def flow(self) -> str | None: ...
    @property
    def pattern(self) -> str | None: ...
    @property
    def next(self) -> list[str]: ...
    @property
    def loopback(self) -> bool: ...
    @property
    def generation(self) -> int: ...
    @property
    def missing_args(self) -> list[str]: ...
    @property
    def breaches(self) -> list[dict[str, Any]]: ...
    @property
    def exceeded(self) -> list[dict[str, Any]]: ...
    @property
    def failures(self) -> list[tuple[str, str]]: ...
    def to_json(self) -> str: ...
    def to_dict(self) -> dict[str, Any]: ...

@final
class Explanation:
    """The explanation of a decision. Its ``str()`` is what ``rulec why --full`` prints.

    >>> rules = Rules.from_text("route big when n > 9 -> many default -> few")
    >>> print(rules.explain({}).summary().splitlines()[0])
    `default` is chosen → few, because nothing before it holds
    """

    @property
    def chosen(self) -> str | None: ...
    @property
    def target(self) -> str | None: ...
    def summary(self) -> str: ...
    def to_json(self) -> str: ...
    def to_dict(self) -> dict[str, Any]: ...

@final
class ReportItem:
    """What loading did with one item of a document of another system.

    >>> flow = {"flow_id": "hi", "type": "keyword", "trigger_patterns": ["hello", " "], "match_type": "exact"}
    >>> [item.notes for item in Rules.from_flows({"flows": [flow]}).report if item.outcome == "skipped"]
    [['this pattern is blank; remove it']]
    """

    @property
    def kind(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def outcome(self) -> str: ...
    @property
    def notes(self) -> list[str]: ...
    @property
    def warnings(self) -> list[tuple[str, str]]: ...
    @property
    def pointer(self) -> str: ...
    @property
    def line(self) -> int | None: ...
    @property
    def column(self) -> int | None: ...
    def to_dict(self) -> dict[str, Any]: ...

@final
class Prepared:
    """A message that was read once, to decide it by several entries.

    >>> rules = Rules.from_text("table size { route big when n > 9 -> many } default -> chat")
    >>> prepared = rules.prepare({"n": 12})
    >>> rules.decide(prepared).target, rules.decide(prepared, entry="size").target
    ('chat', 'many')
    """

    def to_dict(self) -> dict[str, Any]: ...

@final
class Rules:
    """Compiled rules. Threads may share them, and pickling stores them as their artifact.

    >>> rules = Rules.from_text("route big when n > 9 -> many default -> few")
    >>> rules.decide({"n": 12}).target, rules.decide({}).target
    ('many', 'few')
    >>> rules.entries, rules.targets
    (['routes'], ['few', 'many'])
    """

    @staticmethod
    def from_path(
        path: str | PathLike[str],
        *,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        root: str | PathLike[str] | None = None,
    ) -> Rules: ...
    @staticmethod
    def from_text(
        text: str,
        *,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        imports: Mapping[str, str] | None = None,
    ) -> Rules: ...
    @staticmethod
    def from_artifact(
        artifact: bytes | str | PathLike[str],
        *,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        trusted: Sequence[str] | None = None,
    ) -> Rules: ...
    @staticmethod
    def from_flows(document: Any, *, strict: bool = False, literal: bool = False) -> Rules: ...
    @staticmethod
    def from_routes(document: Any, *, strict: bool = False) -> Rules: ...
    @staticmethod
    def from_choices(document: Any, *, strict: bool = False) -> Rules: ...
    @staticmethod
    def from_payload_context(document: Any, *, strict: bool = False) -> Rules: ...
    @property
    def report(self) -> list[ReportItem]: ...
    def export(self, system: str) -> tuple[Any, list[ReportItem]]: ...
    def original(self, name: str) -> str: ...
    def to_artifact(self, *, strip_source: bool = False, sign: str | None = None) -> bytes: ...
    def decide(self, message: _Message | Prepared, *, entry: str | None = None) -> Decision: ...
    def decide_json(self, text: str | bytes, *, entry: str | None = None) -> Decision: ...
    def decide_many(self, messages: Iterable[_Message | Prepared], *, entry: str | None = None) -> list[Decision]: ...
    def matched(self, message: _Message | Prepared, *, entry: str | None = None) -> list[str]: ...
    def explain(
        self, message: _Message | Prepared, *, entry: str | None = None, show_private: bool = False
    ) -> Explanation: ...
    def analyze(self, text: str, ctx: Mapping[str, Any] | None = None) -> dict[str, Any]: ...
    def prepare(self, message: _Message) -> Prepared: ...
    @property
    def entries(self) -> list[str]: ...
    @property
    def targets(self) -> list[str]: ...
    @property
    def warnings(self) -> list[Diagnostic]: ...
    @property
    def generation(self) -> int: ...
    def required_permissions(self, handler: str) -> list[str]: ...
    def next_nodes(self, router: str, output: Any, all_next_ids: Sequence[str]) -> list[str]: ...
    @property
    def kinds(self) -> list[str]: ...
    def judge(
        self,
        kind: str,
        *,
        inputs: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        strict: bool = False,
    ) -> Judge: ...
    def schema(self, kind: str) -> dict[str, Any]: ...
    def input_schema(self) -> dict[str, Any]: ...
    def args_schema(self, handler: str) -> dict[str, Any]: ...
    def flows(self) -> Flows: ...
    def question(self, name: str) -> Question: ...
    @property
    def questions(self) -> list[Question]: ...
    @property
    def choices(self) -> list[str]: ...
    def choice_tool(self, name: str) -> dict[str, Any]: ...
    def reasons(self, name: str, message: _Message | Prepared) -> list[str]: ...
    def analyse(self, *, strict_ties: bool = False) -> list[Finding]: ...
    def cost(self) -> list[dict[str, Any]]: ...
    def overlaps(self, table: str = "routes") -> dict[str, Any]: ...
    def run_tests(self, *, show_private: bool = False) -> list[TestResult]: ...
    def diff(self, new: Rules) -> dict[str, Any]: ...
    def why_not(
        self, message: _Message | Prepared, route: str, *, entry: str | None = None, show_private: bool = False
    ) -> dict[str, Any]: ...
    def skipped(self, choice: str, message: _Message | Prepared) -> list[dict[str, str]]: ...

@final
class Finding:
    """A finding of the analysis, with a message that demonstrates it.

    >>> rules = Rules.from_text("route a when n > 3 -> x\\nroute b when n > 9 -> y\\ndefault -> z")
    >>> [finding.diagnostic.message for finding in rules.analyse()]
    ['`b` can never be chosen: `a` matches every message that it matches']
    """

    @property
    def diagnostic(self) -> Diagnostic: ...
    @property
    def witness(self) -> dict[str, Any] | None: ...

@final
class TestResult:
    """The outcome of a `test` block.

    >>> rules = Rules.from_text('default -> chat\\ntest "hello" { given text = "hello" expect default }')
    >>> [(test.name, test.passed) for test in rules.run_tests()]
    [('hello', True)]
    """

    @property
    def name(self) -> str: ...
    @property
    def passed(self) -> bool: ...
    @property
    def expected(self) -> str: ...
    @property
    def actual(self) -> str: ...
    @property
    def explanation(self) -> Explanation | None: ...
    @property
    def file(self) -> str | None: ...
    @property
    def line(self) -> int | None: ...

@final
class Condition:
    """A condition that is given as text at run time.

    >>> condition = Condition.compile('rows > 10 and ${fetch.status} == "ok"')
    >>> condition.holds({"rows": 12, "fetch": {"status": "ok"}})
    True
    """

    @staticmethod
    def compile(text: str) -> Condition: ...
    def holds(self, values: _Message) -> bool: ...

@final
class Edit:
    """An edit of live rules; `LiveRules.edit` applies a list of edits at once.

    >>> Edit.remove("money") == Edit.remove("money", table="routes")
    True
    """

    @staticmethod
    def insert(statement: str, *, table: str | None = None, file: str | None = None) -> Edit: ...
    @staticmethod
    def replace(statement: str, *, table: str | None = None, file: str | None = None) -> Edit: ...
    @staticmethod
    def remove(name: str, *, table: str | None = None, file: str | None = None) -> Edit: ...

@final
class LiveRules:
    """Rules that can be edited while other threads decide with them.

    >>> rules = LiveRules.from_text("default -> chat")
    >>> generation = rules.insert('route hello when text contains "hello" -> greeter')
    >>> rules.decide({"text": "hello"}).target
    'greeter'
    """

    @staticmethod
    def from_path(
        path: str | PathLike[str], *, functions: Mapping[str, Callable[..., Any]] | None = None
    ) -> LiveRules: ...
    @staticmethod
    def from_text(text: str, *, functions: Mapping[str, Callable[..., Any]] | None = None) -> LiveRules: ...
    def decide(self, message: _Message, *, entry: str | None = None) -> Decision: ...
    def decide_json(self, text: str | bytes) -> Decision: ...
    def matched(self, message: _Message, *, entry: str | None = None) -> list[str]: ...
    def explain(self, message: _Message) -> Explanation: ...
    def insert(self, statement: str, *, table: str | None = None, file: str | None = None) -> int: ...
    def replace(self, statement: str, *, table: str | None = None, file: str | None = None) -> int: ...
    def remove(self, name: str, *, table: str | None = None, file: str | None = None) -> int: ...
    def edit(self, edits: Sequence[Edit]) -> int: ...
    def contains(self, route: str, *, table: str = "routes") -> bool: ...
    def merge(self) -> None: ...
    def snapshot(self) -> Rules: ...
    @property
    def pending(self) -> int: ...
    @property
    def generation(self) -> int: ...
    @property
    def texts(self) -> list[tuple[str, str]]: ...

@final
class WatchStatus:
    """The state of a watched file.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "support.rules")
    >>> _ = path.write_text("default -> chat")
    >>> status = WatchedRules(path).status
    >>> status.loaded, status.refused, status.error
    (1, 0, None)
    """

    @property
    def generation(self) -> int: ...
    @property
    def loaded(self) -> int: ...
    @property
    def refused(self) -> int: ...
    @property
    def error(self) -> str | None: ...

@final
class WatchedRules:
    """Rules that follow a file. A version that cannot be loaded is refused, and the last good version stays active.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "support.rules")
    >>> _ = path.write_text("default -> chat")
    >>> WatchedRules(path).decide({"text": "hello"}).target
    'chat'
    """

    def __new__(
        cls,
        path: str | PathLike[str],
        *,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        log: str | PathLike[str] | None = None,
    ) -> WatchedRules: ...
    def decide(self, message: _Message, *, entry: str | None = None) -> Decision: ...
    @property
    def rules(self) -> LiveRules: ...
    @property
    def status(self) -> WatchStatus: ...
    def changed(self) -> Future[WatchStatus]: ...
    def stats(self) -> dict[str, Any]: ...

@final
class Judge:
    """A checker of payloads of one kind.

    >>> rules = Rules.from_text("payload refund rank 1 { amount: number in 0..=500 }")
    >>> rules.judge("refund").judge({"amount": 20}).is_accepted
    True
    """

    @property
    def kind(self) -> str: ...
    def judge(self, payload: _Message | str) -> Judgement: ...
    def schema(self) -> dict[str, Any]: ...

@final
class Violation:
    """A violation of a payload rule.

    >>> rules = Rules.from_text("payload refund rank 1 { amount: number in 0..=500 }")
    >>> [violation] = rules.judge("refund").judge({"amount": 900}).violations
    >>> violation.rule, violation.path
    ('refund.amount.range', '$.amount')
    """

    @property
    def rule(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def repair(self) -> str: ...

@final
class Judgement:
    """The result of checking a payload.

    >>> rules = Rules.from_text('payload refund rank 1 { currency: string default "EUR" }')
    >>> judgement = rules.judge("refund").judge({})
    >>> judgement.outcome, judgement.corrected
    ('accept_corrected', {'currency': 'EUR'})
    """

    @property
    def kind(self) -> str: ...
    @property
    def outcome(self) -> str: ...
    @property
    def is_valid(self) -> bool: ...
    @property
    def is_accepted(self) -> bool: ...
    @property
    def violations(self) -> list[Violation]: ...
    @property
    def remaining(self) -> list[Violation]: ...
    @property
    def warnings(self) -> list[Violation]: ...
    @property
    def corrected(self) -> dict[str, Any] | None: ...
    @property
    def fallback(self) -> str | None: ...
    def feedback(self) -> str: ...
    def to_json(self) -> str: ...
    def to_dict(self) -> dict[str, Any]: ...

@final
class FlowHit:
    """A flow that was found for a text. ``pattern`` is the keyword that matched; ``score`` is the classifier's.

    >>> rules = Rules.from_text('flow hello keyword exact ["hello"] -> "greeting"')
    >>> hit = rules.flows().find("Hello")
    >>> hit.id, hit.pattern, hit.score
    ('greeting', 'hello', None)
    """

    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def pattern(self) -> str | None: ...
    @property
    def score(self) -> float | None: ...

@final
class Flows:
    """A finder of flows, by keywords and then by the built-in classifier of intents.

    >>> flows = Rules.from_text('flow hello keyword exact ["hello"] -> "greeting"').flows()
    >>> flows.find("good bye") is None
    True
    """

    def find(self, text: str) -> FlowHit | None: ...
    def nearest(self, text: str) -> list[FlowHit]: ...
    @property
    def prompt(self) -> str: ...
    @property
    def tool(self) -> dict[str, Any]: ...
    @property
    def intents(self) -> list[str]: ...

@final
class Question:
    """The question that a language model answers to make a choice.

    >>> question = Rules.from_text(
    ...     'choice mood ask "how does the customer feel?" { branch angry "furious"  default branch calm }'
    ... ).question("mood")
    >>> question.text, question.branches
    ('how does the customer feel?', ['angry', 'calm'])
    """

    @property
    def name(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def branches(self) -> list[str]: ...
    @property
    def default_branch(self) -> str: ...
    @property
    def to_user(self) -> bool: ...
    @property
    def prompt(self) -> str: ...
    @property
    def tool(self) -> dict[str, Any]: ...
    def known(self, message: _Message) -> str | None: ...

@final
class Policy:
    """How a router calls a handler. Times are in seconds; ``retries`` and ``circuit`` are a number and a time.

    >>> async def slow(request):
    ...     await asyncio.sleep(60)
    >>> async def main():
    ...     policy = Policy(time_limit=0.01, fallbacks=["apology"])
    ...     handlers = {"chat": slow, "apology": lambda request: "sorry"}
    ...     return await Router(Rules.from_text("default -> chat"), handlers, policies={"chat": policy}).route({})
    >>> asyncio.run(main()).reply
    'sorry'
    """

    def __new__(
        cls,
        *,
        time_limit: float | None = None,
        chain_limit: float | None = None,
        retries: tuple[int, float] | None = None,
        circuit: tuple[int, float] | None = None,
        fallbacks: Sequence[str] | None = None,
    ) -> Policy: ...

@final
class Request:
    """What a handler receives.

    >>> def many(request):
    ...     return request.route, request.args
    >>> async def main():
    ...     router = Router(Rules.from_text("route big when n > 9 -> many(n: n)"), {"many": many})
    ...     return (await router.route({"n": 12})).reply
    >>> asyncio.run(main())
    ['big', {'n': 12}]
    """

    @property
    def message(self) -> Any: ...
    @property
    def text(self) -> str: ...
    @property
    def args(self) -> dict[str, Any]: ...
    @property
    def metadata(self) -> dict[str, Any]: ...
    @property
    def route(self) -> str: ...
    @property
    def handler(self) -> str: ...
    @property
    def attempt(self) -> int: ...
    @property
    def generation(self) -> int: ...

@final
class Outcome:
    """What became of a message: the reply of its handler, or the error.

    >>> def many(request):
    ...     raise ConnectionError("no line")
    >>> async def main():
    ...     return await Router(Rules.from_text("default -> many"), {"many": many}).route({})
    >>> outcome = asyncio.run(main())
    >>> outcome.reply, outcome.error
    (None, 'the handler of `default` failed: ConnectionError: no line')
    """

    @property
    def kind(self) -> str: ...
    @property
    def route(self) -> str | None: ...
    @property
    def handler(self) -> str | None: ...
    @property
    def reply(self) -> Any: ...
    @property
    def error(self) -> str | None: ...
    @property
    def exception(self) -> BaseException | None: ...
    @property
    def fallback(self) -> str | None: ...
    @property
    def attempts(self) -> int: ...
    @property
    def generation(self) -> int: ...
    def to_json(self) -> str: ...
    def to_dict(self) -> dict[str, Any]: ...

@final
class Finished:
    """What the hook ``after`` of a router receives: a message and its outcome.

    >>> seen = []
    >>> def after(finished):
    ...     seen.append((finished.message, finished.outcome.reply))
    >>> async def main():
    ...     await Router(Rules.from_text("default -> chat"), {"chat": lambda request: "hi"}, after=after).route({"n": 1})
    >>> asyncio.run(main())
    >>> seen
    [({'n': 1}, 'hi')]
    """

    @property
    def message(self) -> Any: ...
    @property
    def outcome(self) -> Outcome: ...

@final
class Router:
    """Decides messages, and awaits their handlers on the event loop of the caller.

    >>> async def chat(request):
    ...     return f"you said {request.text}"
    >>> async def main():
    ...     return await Router(Rules.from_text("default -> chat"), {"chat": chat}).route({"text": "hello"})
    >>> asyncio.run(main()).reply
    'you said hello'
    """

    def __new__(
        cls,
        rules: Rules,
        handlers: Mapping[str, Callable[[Request], Any]],
        *,
        entry: str | None = None,
        policies: Mapping[str, Policy] | None = None,
        permissions: Callable[[dict[str, Any]], Iterable[str]] | None = None,
        log: str | PathLike[str] | None = None,
        log_analysis: bool = False,
        before: Callable[[Any], Any] | None = None,
        after: Callable[[Finished], Any] | None = None,
        error_scope: Callable[[dict[str, Any]], str] | None = None,
    ) -> Router: ...
    def route(self, message: _Message, *, permissions: Sequence[str] | None = None) -> Future[Outcome]: ...
    def swap(self, rules: Rules) -> int: ...
    @property
    def warnings(self) -> list[str]: ...
    def stats(self) -> dict[str, Any]: ...
    def close(self) -> Future[None]: ...

def json_lines(answers: Any, first: int = 1) -> bytes: ...

@final
class Columns:
    """Rules or a judge, bound to a schema. Schemas, batches and streams are PyArrow objects.

    >>> import pyarrow
    >>> batch = pyarrow.record_batch({"n": [3, 30]})
    >>> columns = Columns.of_rules(Rules.from_text("route big when n > 9 -> many default -> few"), batch.schema)
    >>> columns.answer(batch).column("target").to_pylist()
    ['few', 'many']
    """

    @staticmethod
    def of_rules(
        rules: Rules,
        schema: Any,
        *,
        entry: str | None = None,
        json: Sequence[str] | None = None,
        allow_missing: bool = False,
        matched: bool = False,
    ) -> Columns: ...
    @staticmethod
    def of_judge(judge: Judge, schema: Any, *, json: Sequence[str] | None = None) -> Columns: ...
    @property
    def schema(self) -> Any: ...
    def answer(self, batch: Any) -> Any: ...
    def answer_stream(self, stream: Any) -> Any: ...
