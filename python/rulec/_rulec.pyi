"""The native half of the package. JSON values are `Any`, because the rules define their types."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from os import PathLike
from typing import Any, ClassVar, Protocol, TypeAlias, final

from .models import Models

__all__ = [
    "AgentSession",
    "Bus",
    "ChatModel",
    "Classifier",
    "Columns",
    "ColumnsMismatch",
    "CompileError",
    "Condition",
    "Coordinator",
    "Decision",
    "DecisionLog",
    "DecisionMade",
    "DecisionRejected",
    "DecisionValidated",
    "Diagnostic",
    "Done",
    "DurableStore",
    "Edit",
    "Explanation",
    "Finding",
    "Finished",
    "FlowHit",
    "FlowOutcome",
    "FlowRunner",
    "Flows",
    "Handled",
    "HttpClient",
    "HttpError",
    "HttpHandler",
    "Judge",
    "JudgeByField",
    "Judgement",
    "LiveRules",
    "MemoryStore",
    "MessageError",
    "Middleware",
    "ModelRequest",
    "NodeCall",
    "NodeExecutionFailed",
    "NodeFactory",
    "Outcome",
    "Policy",
    "Prepared",
    "Published",
    "Question",
    "ReportItem",
    "Request",
    "Response",
    "RetryRequest",
    "Router",
    "RouterError",
    "RulecError",
    "Rules",
    "RulesInForce",
    "Session",
    "SharedStore",
    "Started",
    "Stop",
    "Subscription",
    "TestResult",
    "Turn",
    "UnknownName",
    "Violation",
    "Watch",
    "WatchStatus",
    "WatchedRules",
    "Workflow",
    "WorkflowError",
    "WorkflowRun",
    "__version__",
    "ask_choice",
    "command_line",
    "end",
    "http_handler",
    "json_lines",
    "log_level",
    "unpickled_decision",
]

class _Dataclass(Protocol):
    __dataclass_fields__: ClassVar[dict[str, Any]]

class _Model(Protocol):
    def model_dump(self, *, mode: str = ...) -> dict[str, Any]: ...

class _Store(Protocol):
    def with_key(self, key: str) -> AbstractContextManager[list[dict[str, Any]]]: ...

_History: TypeAlias = MemoryStore | DurableStore | SharedStore | _Store
_Message: TypeAlias = Mapping[str, Any] | _Dataclass | _Model
_RulesInForce: TypeAlias = Rules | LiveRules | WatchedRules | Router

__version__: str

def command_line(args: Sequence[str]) -> int: ...
def end() -> None: ...
def log_level(level: str) -> None: ...
def unpickled_decision(attributes: dict[str, Any]) -> Decision: ...

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

class WorkflowError(RulecError):
    """A workflow that cannot be built, or a run that cannot be resumed.

    >>> try:
    ...     Workflow("a", [{"id": "a", "type": "write", "next": ["b"]}], workers={"write": print})
    ... except WorkflowError as error:
    ...     print("`b`" in str(error))
    True
    """

class HttpError(RulecError):
    """A call that failed, or that the list of hosts does not allow.

    >>> try:
    ...     ChatModel("http://localhost:9/v1", "small", client=HttpClient(allow=["example.com"]))
    ... except HttpError as error:
    ...     print("localhost:9" in str(error))
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
    @property
    def history_gap(self) -> str | None: ...
    @property
    def skipped(self) -> list[dict[str, str]]: ...
    def to_json(self) -> str: ...
    def to_dict(self) -> dict[str, Any]: ...
    def _repr_html_(self) -> str: ...

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
    def _repr_html_(self) -> str: ...

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
        tier: str | None = None,
        index: str | None = None,
    ) -> Rules: ...
    @staticmethod
    def from_text(
        text: str,
        *,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        imports: Mapping[str, str] | None = None,
        tier: str | None = None,
        index: str | None = None,
    ) -> Rules: ...
    @staticmethod
    def from_artifact(
        artifact: bytes | str | PathLike[str],
        *,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        trusted: Iterable[str] | None = None,
        tier: str | None = None,
        index: str | None = None,
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
    def decide_json_many(
        self, texts: Iterable[str | bytes], *, entry: str | None = None, threads: int = 1
    ) -> list[Decision]: ...
    def session(self, *, entry: str | None = None, history: _History | None = None) -> Session: ...
    def matched(
        self, message: _Message | Prepared, *, entry: str | None = None, history: _History | None = None
    ) -> list[str]: ...
    def explain(
        self,
        message: _Message | Prepared,
        *,
        entry: str | None = None,
        show_private: bool = False,
        history: _History | None = None,
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
    def has_history(self) -> bool: ...
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
        history: _History | None = None,
    ) -> Judge: ...
    def judge_by(
        self,
        field: str,
        *,
        inputs: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        strict: bool = False,
        history: _History | None = None,
    ) -> JudgeByField: ...
    def models(self) -> Models: ...
    def schema(self, kind: str) -> dict[str, Any]: ...
    def draw(self, name: str | None = None, *, format: str = "mermaid") -> str: ...
    def input_schema(self) -> dict[str, Any]: ...
    def args_schema(self, handler: str) -> dict[str, Any]: ...
    def flows(self, *, client: HttpClient | None = None) -> Flows: ...
    def arbitrate(self, decisions: Sequence[tuple[str, str]]) -> dict[str, Any]: ...
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
        self,
        message: _Message | Prepared,
        route: str,
        *,
        entry: str | None = None,
        show_private: bool = False,
        history: _History | None = None,
    ) -> dict[str, Any]: ...
    def skipped(
        self, choice: str, message: _Message | Prepared, *, history: _History | None = None
    ) -> list[dict[str, str]]: ...
    def _repr_html_(self) -> str: ...

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
    """Rules that can be edited while threads decide with them.

    >>> rules = LiveRules.from_text("default -> chat")
    >>> generation = rules.insert('route hello when text contains "hello" -> greeter')
    >>> rules.decide({"text": "hello"}).target
    'greeter'
    """

    @staticmethod
    def from_path(
        path: str | PathLike[str],
        *,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        root: str | PathLike[str] | None = None,
        tier: str | None = None,
        index: str | None = None,
    ) -> LiveRules: ...
    @staticmethod
    def from_text(
        text: str,
        *,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        imports: Mapping[str, str] | None = None,
        tier: str | None = None,
        index: str | None = None,
    ) -> LiveRules: ...
    @staticmethod
    def from_artifact(
        artifact: bytes | str | PathLike[str],
        *,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        trusted: Iterable[str] | None = None,
        tier: str | None = None,
        index: str | None = None,
    ) -> LiveRules: ...
    def decide(self, message: _Message | Prepared, *, entry: str | None = None) -> Decision: ...
    def decide_json(self, text: str | bytes, *, entry: str | None = None) -> Decision: ...
    def decide_many(self, messages: Iterable[_Message | Prepared], *, entry: str | None = None) -> list[Decision]: ...
    def decide_and_record(self, message: _Message, *, history: _History) -> Decision: ...
    def decide_with_history(
        self, message: _Message, *, history: _History, entry: str | None = None
    ) -> Decision: ...
    def record(self, message: _Message, decision: Decision, *, history: _History) -> None: ...
    def observe(self, message: _Message, *, history: _History) -> None: ...
    def matched(self, message: _Message | Prepared, *, entry: str | None = None) -> list[str]: ...
    def explain(
        self,
        message: _Message | Prepared,
        *,
        entry: str | None = None,
        show_private: bool = False,
        history: _History | None = None,
    ) -> Explanation: ...
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
    @property
    def report(self) -> list[ReportItem]: ...

@final
class WatchedRules:
    """Rules that follow a file. A version that cannot be loaded is refused, and the last good version stays active.

    The file may be another system's JSON. An item that cannot be used is skipped, and ``status.report`` names it; with
    ``strict``, it makes the version fail. ``system`` names the system, if the name of the file does not end in
    ``.json`` or the shape of the JSON does not show the system.

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
        log: DecisionLog | str | PathLike[str] | Callable[[str], Any] | None = None,
        system: str | None = None,
        strict: bool = False,
        literal: bool = False,
        trusted: Iterable[str] | None = None,
        root: str | PathLike[str] | None = None,
        tier: str | None = None,
        index: str | None = None,
    ) -> WatchedRules: ...
    def decide(self, message: _Message | Prepared, *, entry: str | None = None) -> Decision: ...
    def explain(
        self, message: _Message | Prepared, *, entry: str | None = None, show_private: bool = False
    ) -> Explanation: ...
    def flows(self, *, client: HttpClient | None = None) -> Flows: ...
    @property
    def rules(self) -> LiveRules: ...
    @property
    def status(self) -> WatchStatus: ...
    def changed(self, *, since: WatchStatus | None = None) -> Future[WatchStatus]: ...
    def check(self) -> None: ...
    def stats(self) -> dict[str, Any]: ...

@final
class RulesInForce:
    """The rules in force of live rules, of a watched file or of a router; for classes that follow them.

    >>> live = LiveRules.from_text("default -> chat")
    >>> in_force = RulesInForce(live)
    >>> in_force.current() is in_force.current()
    True
    >>> generation = live.replace("default -> person")
    >>> in_force.current().decide({}).target
    'person'
    """

    def __new__(cls, rules: _RulesInForce) -> RulesInForce: ...
    def current(self) -> Rules: ...

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
    def why(self, payload: _Message) -> list[dict[str, Any]]: ...
    def schema(self) -> dict[str, Any]: ...

@final
class JudgeByField:
    """A checker of payloads of all kinds. A field of each payload names its kind.

    >>> rules = Rules.from_text("payload refund { kind: any const decision; amount: number }")
    >>> judges = rules.judge_by("kind")
    >>> judges.judge({"kind": "refund", "amount": 20}).is_accepted
    True
    >>> judges.judge({"kind": "refunds", "amount": 20}).violations
    [<Violation of refund.kind.match at $.kind: `kind` is "refunds", which is not a payload kind>]
    """

    def judge(self, payload: _Message | str) -> Judgement: ...

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
    def corrections(self) -> list[tuple[str, str]]: ...
    @property
    def unchecked(self) -> list[tuple[str, str, str]]: ...
    @property
    def corrected(self) -> dict[str, Any] | None: ...
    @property
    def fallback(self) -> str | None: ...
    @property
    def history_gap(self) -> str | None: ...
    def feedback(self) -> str: ...
    def to_json(self) -> str: ...
    def to_dict(self) -> dict[str, Any]: ...
    def _repr_html_(self) -> str: ...

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

    It follows live rules, watched rules or the rules of a router.

    >>> flows = Rules.from_text('flow hello keyword exact ["hello"] -> "greeting"').flows()
    >>> flows.find("good bye") is None
    True
    """

    def __new__(cls, rules: _RulesInForce, *, client: HttpClient | None = None) -> Flows: ...
    def find(self, text: str) -> FlowHit | None: ...
    def nearest(self, text: str) -> list[FlowHit]: ...
    @property
    def endpoint(self) -> dict[str, Any] | None: ...
    def execute(
        self,
        flow: FlowHit | str,
        context: Mapping[str, Any] | None = None,
        *,
        arguments: Mapping[str, Any] | None = None,
    ) -> Future[Response]: ...
    @property
    def prompt(self) -> str: ...
    @property
    def tool(self) -> dict[str, Any]: ...
    @property
    def intents(self) -> list[str]: ...

@final
class Question:
    """The question that a language model must answer to make a choice.

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
    def request(self, message: _Message) -> ModelRequest: ...
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
    ('big', {'n': 12})
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
    """The result of routing a message to a handler: the reply, or the error.

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
        rules: Rules | LiveRules,
        handlers: Mapping[str, Callable[[Request], Any]],
        *,
        otherwise: Callable[[Request], Any] | None = None,
        entry: str | None = None,
        policies: Mapping[str, Policy] | None = None,
        permissions: Callable[[dict[str, Any]], Iterable[str]] | None = None,
        log: DecisionLog | str | PathLike[str] | Callable[[str], Any] | None = None,
        log_analysis: bool = False,
        before: Callable[[Any], Any] | None = None,
        after: Callable[[Finished], Any] | None = None,
        error_scope: Callable[[dict[str, Any]], str] | None = None,
        keep: int = 1,
    ) -> Router: ...
    def route(
        self, message: _Message, *, permissions: Sequence[str] | None = None
    ) -> Coroutine[Any, Any, Outcome]: ...
    def _begin(self, message: Any, permissions: Sequence[str] | None) -> Outcome | Started | Future[Outcome]: ...
    def swap(self, rules: Rules | LiveRules) -> int: ...
    def edit(self, edits: Sequence[Edit]) -> int: ...
    def shadow(self, rules: Rules | LiveRules) -> int: ...
    def shadow_stats(self) -> dict[str, Any] | None: ...
    def end_shadow(self) -> dict[str, Any] | None: ...
    def promote(self, generation: int) -> int: ...
    def roll_back(self, generation: int) -> int: ...
    def generations(self) -> dict[str, Any]: ...
    def watch(
        self,
        path: str | PathLike[str],
        *,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        system: str | None = None,
        strict: bool = False,
        literal: bool = False,
        trusted: Iterable[str] | None = None,
        root: str | PathLike[str] | None = None,
        tier: str | None = None,
        index: str | None = None,
    ) -> Future[Watch]: ...
    @property
    def rules(self) -> LiveRules: ...
    @property
    def warnings(self) -> list[str]: ...
    def stats(self) -> dict[str, Any]: ...
    def close(self) -> Future[None]: ...

@final
class Started:
    """A message whose handler the caller of ``route`` awaits; for the package itself.

    >>> async def main():
    ...     router = Router(Rules.from_text("default -> chat"), {"chat": lambda request: "hi"})
    ...     started = router._begin({}, None)
    ...     return started.finish(started.start()).reply
    >>> asyncio.run(main())
    'hi'
    """

    def start(self) -> Any: ...
    def finish(self, reply: Any) -> Outcome | None: ...
    def fail(self, exception: BaseException) -> Outcome | None: ...
    def cancel(self) -> None: ...

@final
class Watch:
    """A file whose versions a router takes while it serves; see ``Router.watch``.

    The router watches it until it watches another file, or until ``close`` of the watch or the router. ``changed``
    waits for the next change after the call, or after the status ``since``.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "support.rules")
    >>> _ = path.write_text("default -> chat")
    >>> async def main():
    ...     router = Router(Rules.from_text("default -> chat"), {"chat": lambda request: "hi"})
    ...     return (await router.watch(path)).status.loaded
    >>> asyncio.run(main())
    1
    """

    @property
    def status(self) -> WatchStatus: ...
    def changed(self, *, since: WatchStatus | None = None) -> Future[WatchStatus]: ...
    def check(self) -> None: ...
    def close(self) -> None: ...

@final
class DecisionLog:
    """One line of JSON per decision, in a file or passed to a function. Values of ``@private`` fields are masked.

    >>> lines = []
    >>> async def main():
    ...     log = DecisionLog(lines.append, message=False)
    ...     router = Router(Rules.from_text("default -> chat"), {"chat": lambda request: "hi"}, log=log)
    ...     await router.route({"text": "hello"})
    ...     return await log.close()
    >>> asyncio.run(main())["written"], '"handler":"chat"' in lines[0]
    (1, True)
    """

    def __new__(
        cls,
        target: str | PathLike[str] | Callable[[str], Any],
        *,
        message: bool = True,
        explanation: bool = False,
        analysis: bool = False,
        capacity: int = 1024,
    ) -> DecisionLog: ...
    def stats(self) -> dict[str, Any]: ...
    def flush(self) -> Future[dict[str, Any]]: ...
    def close(self) -> Future[dict[str, Any]]: ...

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

@final
class Stop:
    """What a middleware returns to stop an event.

    >>> Stop("too much").reason
    'too much'
    """

    def __new__(cls, reason: str) -> Stop: ...
    @property
    def reason(self) -> str: ...

@final
class Published:
    """How an event was delivered.

    >>> async def main():
    ...     return await Bus(middleware={"judge": lambda event: Stop("too much")}).publish(7)
    >>> asyncio.run(main()).stopped_by
    '`judge` stopped the event: too much'
    """

    @property
    def delivered(self) -> int: ...
    @property
    def dropped(self) -> int: ...
    @property
    def stopped_by(self) -> str | None: ...

@final
class Bus:
    """An event bus. A middleware returns a changed event, None to pass the event on, or a ``Stop``.

    >>> async def main():
    ...     bus = Bus(middleware={"double": lambda event: event * 2})
    ...     inbox = bus.subscribe()
    ...     await bus.publish(7)
    ...     return await anext(inbox)
    >>> asyncio.run(main())
    14
    """

    def __new__(
        cls, *, middleware: Mapping[str, Callable[[Any], Any]] | None = None, time_limit: float | None = None
    ) -> Bus: ...
    def add_middleware(self, function: Callable[[Any], Any], *, name: str | None = None) -> None: ...
    def publish(self, event: Any) -> Future[Published]: ...
    def subscribe(self, *classes: type[Any], capacity: int = 1024, policy: str = "wait") -> Subscription: ...
    @property
    def subscribers(self) -> int: ...

@final
class Subscription:
    """A subscriber's queue: an async iterator. Where events were dropped, it raises ``RulecError`` once.

    >>> async def main():
    ...     bus = Bus()
    ...     inbox = bus.subscribe(str)
    ...     for event in (7, "seven"):
    ...         await bus.publish(event)
    ...     return await anext(inbox)
    >>> asyncio.run(main())
    'seven'
    """

    def __aiter__(self) -> Subscription: ...
    def __anext__(self) -> Future[Any]: ...
    def close(self) -> Future[None]: ...

@final
class DecisionMade:
    """A decision that was proposed: a payload and its kind, which is a ``payload`` of the rules.

    >>> DecisionMade("respond", {"response": "hello"}, confidence=0.9).payload
    {'response': 'hello'}
    """

    def __new__(cls, kind: str | None, payload: Any, *, id: str = "", confidence: float | None = None) -> DecisionMade: ...
    @property
    def id(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def payload(self) -> Any: ...
    @property
    def confidence(self) -> float | None: ...
    @property
    def instead_of(self) -> list[str]: ...
    @property
    def failure(self) -> NodeExecutionFailed | None: ...
    def to_dict(self) -> dict[str, Any]: ...

@final
class DecisionValidated:
    """A decision that was accepted. ``payload`` has the corrections of the rules.

    >>> coordinator = Coordinator(Rules.from_text('payload refund rank 1 { currency: string default "EUR" }'))
    >>> coordinator.validate_decision(DecisionMade("refund", {})).payload
    {'currency': 'EUR'}
    """

    @property
    def decision(self) -> DecisionMade: ...
    @property
    def kind(self) -> str: ...
    @property
    def payload(self) -> Any: ...
    @property
    def judgement(self) -> Judgement: ...
    @property
    def is_valid(self) -> bool: ...
    @property
    def errors(self) -> list[str]: ...
    def to_dict(self) -> dict[str, Any]: ...

@final
class DecisionRejected:
    """A decision that was rejected, with the reasons.

    >>> coordinator = Coordinator(Rules.from_text("payload refund rank 1 { amount: number in 0..=500 }"))
    >>> coordinator.validate_decision(DecisionMade("refund", {"amount": 900})).errors
    ['$.amount: `amount` must be a number from 0 to 500, and is 900']
    """

    @property
    def decision(self) -> DecisionMade: ...
    @property
    def kind(self) -> str: ...
    @property
    def payload(self) -> Any: ...
    @property
    def judgement(self) -> Judgement | None: ...
    @property
    def violations(self) -> list[Violation]: ...
    @property
    def feedback(self) -> str: ...
    @property
    def fallback(self) -> str | None: ...
    @property
    def is_valid(self) -> bool: ...
    @property
    def errors(self) -> list[str]: ...
    def to_dict(self) -> dict[str, Any]: ...

@final
class NodeExecutionFailed:
    """The failure of a workflow's node.

    >>> NodeExecutionFailed("w", "fetch", "no line").reason
    'no line'
    """

    def __new__(
        cls,
        workflow_id: str,
        node_id: str,
        reason: str,
        *,
        error_code: str | None = None,
        execution_context: Mapping[str, Any] | None = None,
    ) -> NodeExecutionFailed: ...
    @property
    def workflow_id(self) -> str: ...
    @property
    def node_id(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def error_code(self) -> str | None: ...
    @property
    def execution_context(self) -> dict[str, Any]: ...
    def to_dict(self) -> dict[str, Any]: ...

@final
class Coordinator:
    """Checks decisions by the payload rules, publishes the results on a bus, and executes accepted decisions.

    ``handlers`` execute decisions by kind, and ``workers`` the nodes of plans by type. ``agent``
    proposes others for a rejected decision, at most ``tries`` times. ``recovery`` returns the
    payload of kind ``recovery_kind`` for a failed node. All of them may be async.

    >>> coordinator = Coordinator(Rules.from_text("payload refund rank 1 { amount: number in 0..=500 }"))
    >>> coordinator.validate_decision(DecisionMade("refund", {"amount": 20})).is_valid
    True
    """

    def __new__(
        cls,
        rules: Rules,
        *,
        context: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        strict: bool = False,
        middleware: Mapping[str, Callable[[Any], Any]] | None = None,
        middleware_limit: float | None = None,
        recovery_kind: str = "error_recovery",
        recovery: Callable[[NodeExecutionFailed], Any] | None = None,
        recovery_limit: float | None = None,
        recoveries: int | None = None,
        fallback: Callable[[DecisionRejected], Any] | None = None,
        agent: Callable[[RetryRequest], Any] | None = None,
        tries: int | None = None,
        handlers: Mapping[str, Callable[[DecisionValidated], Any]] | None = None,
        workers: Mapping[str, Callable[[NodeCall], Any] | NodeFactory] | None = None,
        conditions: bool = False,
        loops: int | None = None,
        values: Mapping[str, Any] | None = None,
        node_limit: float | None = None,
        run_limit: float | None = None,
        step_limit: int | None = None,
        byte_limit: int | None = None,
        saving: Callable[[dict[str, Any]], Any] | None = None,
        on_attempt: Callable[[dict[str, Any]], Any] | None = None,
    ) -> Coordinator: ...
    @property
    def bus(self) -> Bus: ...
    def validate_decision(self, decision: DecisionMade) -> DecisionValidated | DecisionRejected: ...
    def as_middleware(self) -> Middleware: ...
    def publish(
        self, event: DecisionMade | NodeExecutionFailed | DecisionValidated | DecisionRejected
    ) -> Future[list[Handled]]: ...
    def session(self) -> AgentSession: ...
    def replace(self, rules: Rules, *, context: Mapping[str, Any] | None = None) -> None: ...
    def saved(self, workflow: str) -> dict[str, Any] | None: ...
    def restore(self, saved: Mapping[str, Any]) -> str: ...
    def resume(self, workflow: str) -> Future[dict[str, Any]]: ...

@final
class Middleware:
    """The check of a coordinator as a middleware for any bus.

    >>> coordinator = Coordinator(Rules.from_text("payload refund rank 1 { amount: number in 0..=500 }"))
    >>> coordinator.as_middleware()(DecisionMade("refund", {"amount": 20}))
    <DecisionValidated refund >
    """

    def __call__(self, event: Any) -> Any: ...

@final
class Handled:
    """An event that a coordinator has processed, and how it was delivered.

    >>> async def main():
    ...     coordinator = Coordinator(Rules.from_text("payload refund rank 1 { amount: number in 0..=500 }"))
    ...     return await coordinator.publish(DecisionMade("refund", {"amount": 900}))
    >>> [handled] = asyncio.run(main())
    >>> handled.event.is_valid, handled.published.delivered
    (False, 0)
    """

    @property
    def event(self) -> Any: ...
    @property
    def published(self) -> Published | None: ...

@final
class RetryRequest:
    """What the agent function of a coordinator receives: a rejected decision.

    >>> def agent(request):
    ...     return DecisionMade("refund", {"amount": 500}) if request.attempt == 1 else None
    >>> async def main():
    ...     rules = Rules.from_text("payload refund rank 1 { amount: number in 0..=500 }")
    ...     session = Coordinator(rules, agent=agent).session()
    ...     return await session.offer(DecisionMade("refund", {"amount": 900}))
    >>> [done.decision.payload for done in asyncio.run(main()).done]
    [{'amount': 500}]
    """

    @property
    def rejected(self) -> DecisionRejected: ...
    @property
    def attempt(self) -> int: ...

@final
class AgentSession:
    """One conversation with an agent: its decisions are executed one after another.

    >>> async def main():
    ...     rules = Rules.from_text("payload ask rank 1 suspends { question: string }")
    ...     session = Coordinator(rules).session()
    ...     await session.offer(DecisionMade("ask", {"question": "which?"}))
    ...     return await session.answer("the first")
    >>> asyncio.run(main()).done[0].result
    {'answer': 'the first'}
    """

    def offer(self, decisions: DecisionMade | Iterable[DecisionMade]) -> Future[Turn]: ...
    def answer(self, answer: Any) -> Future[Turn]: ...
    def send(self, decision: DecisionMade) -> bool: ...

@final
class Turn:
    """The results of one call of ``offer`` or ``answer``.

    >>> async def main():
    ...     rules = Rules.from_text("payload ask rank 1 suspends { question: string }")
    ...     return await Coordinator(rules).session().offer(DecisionMade("ask", {"question": "which?"}))
    >>> asyncio.run(main()).question.payload
    {'question': 'which?'}
    """

    @property
    def done(self) -> list[Done]: ...
    @property
    def rejected(self) -> list[DecisionRejected]: ...
    @property
    def interrupted(self) -> list[DecisionMade]: ...
    @property
    def question(self) -> DecisionValidated | None: ...
    @property
    def waiting(self) -> int: ...

@final
class Done:
    """A decision that was executed, and its result. ``report`` is set if it ran a plan.

    >>> async def main():
    ...     rules = Rules.from_text("payload refund rank 1 { amount: number in 0..=500 }")
    ...     coordinator = Coordinator(rules, handlers={"refund": lambda decision: decision.payload["amount"]})
    ...     return await coordinator.session().offer(DecisionMade("refund", {"amount": 20}))
    >>> asyncio.run(main()).done[0].result
    20
    """

    @property
    def decision(self) -> DecisionValidated: ...
    @property
    def result(self) -> Any: ...
    @property
    def error(self) -> str | None: ...
    @property
    def report(self) -> dict[str, Any] | None: ...

@final
class NodeCall:
    """What a worker of a plan or workflow receives: the node, its config and its input.

    >>> async def llm(call):
    ...     return {"text": call.config["prompt"].upper()}
    >>> async def main():
    ...     rules = Rules.from_text("payload create_node rank 1 { node_type: string; node_name: string; config: dict }")
    ...     payload = {"node_type": "LLM", "node_name": "greet", "config": {"prompt": "hello"}}
    ...     return await Coordinator(rules, workers={"LLM": llm}).session().offer(DecisionMade("create_node", payload))
    >>> asyncio.run(main()).done[0].report["outputs"]
    {'greet': {'text': 'HELLO'}}
    """

    memory: Any
    @property
    def node(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def config(self) -> Any: ...
    @property
    def input(self) -> Any: ...

@final
class Workflow:
    """A graph of nodes that runs. A ``router`` of the rules may choose where an output goes.

    ``workers`` do the work of nodes by type: a function of a ``NodeCall``, or ``"loop"``, ``"vote"``
    or ``"echo"``. ``factories`` make a worker for each node, and ``processors`` are the workers of
    single nodes. ``merge`` and ``merges`` (by node) make one input of several: ``"first"``,
    ``"latest"``, ``"append"``, ``"by_node"``, or a function of the node and its inputs.

    >>> async def main():
    ...     workflow = Workflow("a", [{"id": "a", "type": "add", "next": ["b"]}, {"id": "b", "type": "add"}],
    ...                         workers={"add": lambda call: call.input + 1})
    ...     return await workflow.run(1)
    >>> asyncio.run(main())["outputs"]
    {'b': 3}
    """

    def __new__(
        cls,
        start: str,
        nodes: Sequence[Mapping[str, Any]],
        *,
        rules: Rules | None = None,
        routers: Mapping[str, str] | None = None,
        workers: Mapping[str, Callable[[NodeCall], Any] | NodeFactory | str] | None = None,
        factories: Mapping[str, Callable[[dict[str, Any]], Callable[[NodeCall], Any]]] | None = None,
        processors: Mapping[str, Callable[[NodeCall], Any]] | None = None,
        merge: str | Callable[[str, list[Any]], Any] | None = None,
        merges: Mapping[str, str | Callable[[str, list[Any]], Any]] | None = None,
        passthrough: Sequence[str] | None = None,
        step_limit: int | None = None,
        byte_limit: int | None = None,
    ) -> Workflow: ...
    @staticmethod
    def from_rules(
        rules: Rules,
        name: str,
        *,
        workers: Mapping[str, Callable[[NodeCall], Any] | NodeFactory | str] | None = None,
        factories: Mapping[str, Callable[[dict[str, Any]], Callable[[NodeCall], Any]]] | None = None,
        processors: Mapping[str, Callable[[NodeCall], Any]] | None = None,
        merge: str | Callable[[str, list[Any]], Any] | None = None,
        merges: Mapping[str, str | Callable[[str, list[Any]], Any]] | None = None,
        passthrough: Sequence[str] | None = None,
        step_limit: int | None = None,
        byte_limit: int | None = None,
    ) -> Workflow: ...
    @property
    def findings(self) -> list[str]: ...
    def run(self, input: Any) -> Future[dict[str, Any]]: ...
    def begin(self, input: Any) -> WorkflowRun: ...
    def resume(self, saved: Mapping[str, Any]) -> WorkflowRun: ...

@final
class WorkflowRun:
    """One run of a workflow, which proceeds node by node and may be saved in between.

    >>> async def main():
    ...     workflow = Workflow("a", [{"id": "a", "type": "add", "next": ["b"]}, {"id": "b", "type": "add"}],
    ...                         workers={"add": lambda call: call.input + 1})
    ...     run = workflow.begin(1)
    ...     await run.step()
    ...     return await workflow.resume(run.save()).to_end()
    >>> asyncio.run(main())["outputs"]
    {'b': 3}
    """

    def step(self) -> Future[bool]: ...
    def to_end(self) -> Future[dict[str, Any]]: ...
    @property
    def report(self) -> dict[str, Any]: ...
    @property
    def next_node(self) -> str | None: ...
    def retry_failed(self) -> int: ...
    def save(self) -> dict[str, Any]: ...

@final
class NodeFactory:
    """A worker of the library for nodes of plans or workflows.

    >>> workers = {"HTTP": HttpClient(allow=["api.example.com"]).node()}
    """

@final
class HttpClient:
    """A client that calls only the hosts in ``allow``, each ``host`` or ``host:port``. Times are in seconds.

    >>> async def main():
    ...     await HttpClient(allow=["api.example.com"]).get("https://example.com/")
    >>> try:
    ...     asyncio.run(main())
    ... except HttpError as error:
    ...     print("example.com" in str(error))
    True
    """

    def __new__(
        cls,
        *,
        allow: str | Iterable[str],
        attempt: float | None = None,
        overall: float | None = None,
        retries: int | None = None,
        body: int | None = None,
    ) -> HttpClient: ...
    def get(
        self, url: str, *, headers: Mapping[str, str] | None = None, key: str | None = None
    ) -> Future[Response]: ...
    def post(
        self, url: str, body: Any, *, headers: Mapping[str, str] | None = None, key: str | None = None
    ) -> Future[Response]: ...
    def node(self) -> NodeFactory: ...
    def endpoint_node(self) -> NodeFactory: ...
    def council_node(self) -> NodeFactory: ...

@final
class Response:
    """A successful response; ``body`` is a value if it is JSON, otherwise text.

    >>> async def main(client):
    ...     return (await client.get("https://api.example.com/v1/orders")).body["orders"]
    """

    @property
    def status(self) -> int: ...
    @property
    def body(self) -> Any: ...
    @property
    def attempts(self) -> int: ...
    @property
    def elapsed(self) -> float: ...

@final
class HttpHandler:
    """A handler that calls an endpoint; see ``http_handler``.

    >>> client = HttpClient(allow=["api.example.com"])
    >>> handlers = {"orders": http_handler(client, {"url": "https://api.example.com/orders/{id}", "method": "GET"})}
    """

    def __call__(self, request: Request) -> Future[Any]: ...

def http_handler(client: HttpClient, endpoint: Mapping[str, Any]) -> HttpHandler: ...

@final
class ChatModel:
    """A language model at an OpenAI-compatible endpoint. The default key is in ``RULEC_MODEL_KEY``.

    >>> model = ChatModel("https://api.example.com/v1", "small", temperature=0)
    """

    def __new__(
        cls,
        base: str,
        model: str,
        *,
        client: HttpClient | None = None,
        key: str | None = None,
        path: str | None = None,
        temperature: float | None = None,
    ) -> ChatModel: ...
    def node(self) -> NodeFactory: ...

@final
class ModelRequest:
    """A request that lets a model choose one of several ids: a flow, or a branch of a choice.

    >>> rules = Rules.from_text(
    ...     'choice mood ask "how does the customer feel?" { branch angry "furious"  default branch calm }'
    ... )
    >>> request = rules.question("mood").request({"text": "Where is it?"})
    >>> request.ids, request.messages[-1]["content"], request.picked({"branch": "angry"})
    (['angry', 'calm'], 'Where is it?', ('angry', None))
    """

    @property
    def name(self) -> str: ...
    @property
    def system(self) -> str: ...
    @property
    def known(self) -> str | None: ...
    @property
    def text(self) -> str: ...
    @property
    def ids(self) -> list[str]: ...
    @property
    def tool(self) -> dict[str, Any]: ...
    @property
    def messages(self) -> list[dict[str, str]]: ...
    def picked(self, answer: Any) -> tuple[str, str | None] | None: ...

@final
class FlowRunner:
    """Finds and executes flows; ``FlowChat`` of ``rulec.flows`` also takes a function as the model.

    >>> rules = Rules.from_text('''
    ...     flow tool flow_executor { endpoint: { url: "http://localhost:9/run", method: "POST", body: { flow: "{flow_id}" } } }
    ...     flow greeting keyword exact ["hello"] -> "greet"
    ... ''')
    >>> async def main():
    ...     return await FlowRunner(rules, HttpClient(allow=["localhost:9"], retries=0)).handle("hello")
    >>> asyncio.run(main()).kind
    'failed'
    """

    def __new__(
        cls, rules: _RulesInForce, client: HttpClient, *, model: ChatModel | None = None
    ) -> FlowRunner: ...
    def handle(
        self,
        text: str,
        context: Mapping[str, Any] | None = None,
        *,
        history: Sequence[tuple[str, str]] | None = None,
        arguments: Mapping[str, Any] | None = None,
    ) -> Future[FlowOutcome]: ...
    def execute(
        self, flow: str, context: Mapping[str, Any] | None = None, *, arguments: Mapping[str, Any] | None = None
    ) -> Future[FlowOutcome]: ...
    def question(self, text: str) -> ModelRequest | None: ...

@final
class FlowOutcome:
    """The result of handling a message that may start a flow.

    >>> rules = Rules.from_text('''
    ...     flow tool flow_executor { endpoint: { url: "http://localhost:9/run", method: "POST", body: { flow: "{flow_id}" } } }
    ...     flow greeting keyword exact ["hello"] -> "greet"
    ... ''')
    >>> async def main():
    ...     return await FlowRunner(rules, HttpClient(allow=["localhost:9"])).handle("good bye")
    >>> outcome = asyncio.run(main())
    >>> outcome.kind, outcome.flow
    ('no_flow', None)
    """

    @property
    def kind(self) -> str: ...
    @property
    def flow(self) -> str | None: ...
    @property
    def name(self) -> str | None: ...
    @property
    def found_by(self) -> str | None: ...
    @property
    def pattern(self) -> str | None: ...
    @property
    def nearest(self) -> list[FlowHit]: ...
    @property
    def response(self) -> Response | None: ...
    @property
    def reply(self) -> str | None: ...
    @property
    def error(self) -> str | None: ...
    @property
    def elapsed(self) -> float: ...

def ask_choice(
    rules: Rules, name: str, model: ChatModel, message: _Message
) -> Future[tuple[str, bool, str | None, str | None, list[str]]]: ...

@final
class Session:
    """Rules with their own working memory: the fastest way to decide in one thread.

    It holds the interpreter lock while it decides. Decide long texts with ``Rules.decide``, which
    releases the lock. With a store of earlier messages, its methods decide by what happened before.

    >>> session = Rules.from_text("route big when n > 9 -> many default -> few").session()
    >>> session.decide({"n": 12}).target, session.decide_json('{"n": 3}').target
    ('many', 'few')
    """

    def decide(self, message: _Message | Prepared) -> Decision: ...
    def decide_json(self, text: str | bytes) -> Decision: ...
    def decide_and_record(self, message: _Message | Prepared) -> Decision: ...
    def decide_with_history(self, message: _Message | Prepared) -> Decision: ...
    def matched(self, message: _Message | Prepared) -> list[str]: ...
    def explain(self, message: _Message | Prepared, *, show_private: bool = False) -> Explanation: ...
    def why_not(
        self, message: _Message | Prepared, route: str, *, show_private: bool = False
    ) -> dict[str, Any]: ...
    def record(self, message: _Message | Prepared, decision: Decision) -> None: ...
    def observe(self, message: _Message | Prepared) -> None: ...

@final
class MemoryStore:
    """Earlier messages in memory, for `Rules.session`. Sessions and threads may share a store.

    >>> rules = Rules.from_text('''
    ...     input { tool: string, now: datetime }
    ...     history keep 1d
    ...     route again when previous.tool == tool -> deny
    ...     default -> run
    ... ''')
    >>> session = rules.session(history=MemoryStore())
    >>> message = {"tool": "search", "now": "2026-01-31T12:00:00Z"}
    >>> [session.decide_and_record(message).target for _ in range(2)]
    ['run', 'deny']
    """

    def __new__(cls, max_keys: int | None = None) -> MemoryStore: ...
    @property
    def key_count(self) -> int: ...

@final
class DurableStore:
    """Earlier messages in a folder, which survive the process. One store at a time can use a folder.

    A call that records a message returns when the message is on disk. ``compact(before)`` removes
    older messages, also of keys that are never used again.

    >>> import tempfile
    >>> rules = Rules.from_text('''
    ...     input { tool: string, now: datetime }
    ...     history keep 1d
    ...     route again when previous.tool == tool -> deny
    ...     default -> run
    ... ''')
    >>> store = DurableStore(tempfile.mkdtemp())
    >>> session = rules.session(history=store)
    >>> message = {"tool": "search", "now": "2026-01-31T12:00:00Z"}
    >>> [session.decide_and_record(message).target for _ in range(2)]
    ['run', 'deny']
    >>> store.compact("2026-02-01T00:00:00Z")
    2
    """

    def __new__(cls, folder: str | PathLike[str]) -> DurableStore: ...
    def compact(self, before: datetime | str | None = None) -> int: ...

@final
class SharedStore:
    """Earlier messages at a Redis server, for several programs.

    ``address`` is ``redis://[USER][:PASSWORD@]HOST[:PORT][/DATABASE][#NAME]``; ``name`` and
    ``password`` apply if the address has none.

    >>> try:
    ...     SharedStore("rediss://localhost/0", name="guard")
    ... except RulecError as error:
    ...     "TLS, which is not supported" in str(error)
    True
    """

    def __new__(cls, address: str, *, name: str | None = None, password: str | None = None) -> SharedStore: ...
    def compact(self, before: datetime | str | None = None) -> int: ...

@final
class Classifier:
    """The built-in classifier of intents. It abstains where it is not sure.

    >>> classifier = Classifier.train([
    ...     ("refund", ["I want my money back", "please refund my order"]),
    ...     ("status", ["where is my parcel", "when does my order arrive"]),
    ... ])
    >>> classifier.classify("give me my money back")
    'refund'
    """

    @staticmethod
    def train(
        intents: Sequence[tuple[str, Sequence[str]]], *, threshold: float | None = None, margin: float | None = None
    ) -> Classifier: ...
    def classify(self, text: str) -> str | None: ...
    def ranked(self, text: str) -> list[tuple[str, float]]: ...
    @property
    def ids(self) -> list[str]: ...
