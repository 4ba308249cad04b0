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

def command_line(args: Sequence[str]) -> int:
    """Runs the command-line program `rulec` with these arguments, of which the first is the program's
    name. Returns the exit code.
    """
def end() -> None:
    """Prepares the end of the interpreter: waits for running calls of this module's functions, and
    makes later calls block. Python calls this function by `atexit`.
    """
def log_level(level: str) -> None:
    """Sets the most detailed level that is passed to `logging`: `error`, `warning` (the default),
    `info`, `debug` or `trace`. From `info` on, every routed message is reported.
    """
def unpickled_decision(attributes: dict[str, Any]) -> Decision:
    """Restores a decision from the attributes that pickling has stored."""

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
    >>> from rulec import batch
    >>> rules = Rules.from_text("route big when n > 9 -> many")
    >>> try:
    ...     batch.decide(rules, pyarrow.table({"m": [1]}))
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
    def code(self) -> str:
        """The code, such as `E0203`."""
    @property
    def severity(self) -> str:
        """The severity: `error` or `warning`."""
    @property
    def message(self) -> str:
        """The message, in one line."""
    @property
    def help(self) -> str | None:
        """A remedy; None if there is none."""
    @property
    def rendered(self) -> str:
        """The diagnostic as the command line prints it, with the text underlined."""
    @property
    def file(self) -> str | None:
        """The file with the error. None if the diagnostic concerns no place in a text."""
    @property
    def line(self) -> int | None:
        """The line, from 1. None if the diagnostic concerns no place in a text."""
    @property
    def column(self) -> int | None:
        """The column, from 1, in characters. None if the diagnostic concerns no place in a text."""
    def to_dict(self) -> dict[str, Any]:
        """Returns the diagnostic as a dict."""

@final
class Decision:
    """A decision about one message. It stays valid after its rules are replaced.

    >>> decision = Rules.from_text("route big when n > 9 -> many(n: n)").decide({"n": 12})
    >>> decision.chosen, decision.target, decision.args
    ('big', 'many', {'n': 12})
    """

    @property
    def entry(self) -> str:
        """The name of the entry that decided: a table, choice or router, or `flows`. The routes
        outside tables are the entry `routes`.
        """
    @property
    def chosen(self) -> str | None:
        """The name of the chosen statement, such as a route or a branch; `default` for the default of
        a table. None if nothing was chosen.
        """
    @property
    def target(self) -> str | None:
        """The handler to call. None if nothing was chosen, or if the entry chooses no handler."""
    @property
    def is_default(self) -> bool:
        """True if the default of a table, or the default branch of a choice, was chosen."""
    @property
    def args(self) -> dict[str, Any]:
        """The arguments for the handler, by name. An argument of the type `decimal` is a
        `decimal.Decimal`.
        """
    @property
    def masked_args(self) -> dict[str, Any]:
        """The arguments for logs: values that come from `@private` fields are masked."""
    @property
    def metadata(self) -> dict[str, Any]:
        """The constants that the rules give after the target, as in `-> files { type: "listing" }`."""
    @property
    def requires(self) -> list[str]:
        """The permissions that the chosen handler requires. The program that calls the handler must
        enforce them.
        """
    @property
    def path(self) -> list[str]:
        """The tables that decided, in order: the first one, and each table to which `goto` led."""
    @property
    def branch(self) -> str | None:
        """The id of the branch that a choice took; None for other decisions."""
    @property
    def to_user(self) -> bool:
        """True if the rules declare that the user should see the result of a choice and its reason."""
    @property
    def flow(self) -> str | None:
        """The id of the flow whose pattern matched the message; None if no pattern matched."""
    @property
    def pattern(self) -> str | None:
        """The flow's pattern that matched the message; None if no pattern matched."""
    @property
    def next(self) -> list[str]:
        """The ids of the next nodes that a router selected; empty for other decisions."""
    @property
    def loopback(self) -> bool:
        """True if a router sent the output back to an earlier node."""
    @property
    def generation(self) -> int:
        """The generation (version number) of the rules that decided."""
    @property
    def missing_args(self) -> list[str]:
        """The names of required arguments whose values were missing; these arguments are None."""
    @property
    def breaches(self) -> list[dict[str, Any]]:
        """The fields of the message that break the declared `input`, as dicts. A field of a wrong type
        counts as missing.
        """
    @property
    def exceeded(self) -> list[dict[str, Any]]:
        """The limits that the message exceeded, as dicts. A value over a limit counts as missing."""
    @property
    def failures(self) -> list[tuple[str, str]]:
        """The host functions (functions of the program, which rules call) that failed, as pairs of the
        function's name and the exception's text.
        """
    @property
    def host_time(self) -> float:
        """The time that the decision spent in functions of the program, in seconds."""
    @property
    def history_gap(self) -> str | None:
        """Why the rules may have read fewer recorded messages than there were: `no_key` or `dropped`.
        None if the history was complete.
        """
    @property
    def skipped(self) -> list[dict[str, str]]:
        """The conditions of a choice that were left out, because a value that they read is missing or
        of another type. Each is a dict, as `Rules.skipped` returns. Empty if the decision has read
        earlier messages. The lists and dicts of the message are read only when a program uses this
        attribute, so changes since the decision may have an effect.
        """
    def to_json(self) -> str:
        """Returns the decision as the JSON text that `rulec run` prints."""
    def to_dict(self) -> dict[str, Any]:
        """Returns the decision as a dict: the fields of `to_json`, and `skipped` if it is not empty."""
    def _repr_html_(self) -> str: ...

@final
class Explanation:
    """The explanation of a decision. Its `str()` is the output of `rulec why --full`.

    >>> rules = Rules.from_text("route big when n > 9 -> many default -> few")
    >>> print(rules.explain({}).summary().splitlines()[0])
    `default` is chosen → few, because nothing before it holds
    """

    @property
    def chosen(self) -> str | None:
        """The name of the chosen route or branch; None if nothing was chosen."""
    @property
    def target(self) -> str | None:
        """The handler to call; None if nothing was chosen."""
    def summary(self) -> str:
        """Returns a summary of a few sentences."""
    def to_json(self) -> str:
        """Returns the explanation as the JSON text that `rulec why --format json` prints."""
    def to_dict(self) -> dict[str, Any]:
        """Returns the explanation as a dict, with the fields of `to_json`."""
    def _repr_html_(self) -> str: ...

@final
class ReportItem:
    """One item of a JSON document of another system, and the result of loading it.

    >>> flow = {"flow_id": "hi", "type": "keyword", "trigger_patterns": ["hello", " "], "match_type": "exact"}
    >>> [item.notes for item in Rules.from_flows({"flows": [flow]}).report if item.outcome == "skipped"]
    [['this pattern is blank; remove it']]
    """

    @property
    def kind(self) -> str:
        """The kind of the item, such as `flow` or `pattern`."""
    @property
    def name(self) -> str:
        """The name of the item, such as the id of a flow."""
    @property
    def outcome(self) -> str:
        """The result of loading the item: `loaded`, `adapted` or `skipped`."""
    @property
    def notes(self) -> list[str]:
        """The changes that loading made to an adapted item, or the reason why a skipped item was not
        loaded.
        """
    @property
    def warnings(self) -> list[tuple[str, str]]:
        """The codes and texts of the warnings about the item."""
    @property
    def pointer(self) -> str:
        """The JSON pointer of the item. For a skipped item, the pointer of the part that is wrong."""
    @property
    def line(self) -> int | None:
        """The line of the item, from 1; None if the document was not given as text."""
    @property
    def column(self) -> int | None:
        """The column of the item, from 1; None if the document was not given as text."""
    def to_dict(self) -> dict[str, Any]:
        """Returns the item as a dict."""

@final
class Prepared:
    """A message that was read once, to decide it by several entries.

    >>> rules = Rules.from_text("table size { route big when n > 9 -> many } default -> chat")
    >>> prepared = rules.prepare({"n": 12})
    >>> rules.decide(prepared).target, rules.decide(prepared, entry="size").target
    ('chat', 'many')
    """

    def to_dict(self) -> dict[str, Any]:
        """Returns the message as a dict."""

@final
class Rules:
    """Compiled rules. Threads may share them, and pickling stores them as their artifact (compiled
    form).

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
        allow_missing_functions: bool = False,
    ) -> Rules:
        """Compiles a file and its imports. `root` is the folder that must contain all imported files;
        by default, the folder of the file. `functions` are the Python functions that the rules
        call, by name. With `allow_missing_functions`, the rules may call others, whose results
        count as missing. `tier` names the execution engine: `auto`, `vm`, `jit` or `reference`.
        `index` names the indexing mode: `auto`, `always` or `never`.
        """
    @staticmethod
    def from_text(
        text: str,
        *,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        imports: Mapping[str, str] | None = None,
        tier: str | None = None,
        index: str | None = None,
        allow_missing_functions: bool = False,
    ) -> Rules:
        """Compiles a text. `imports` maps each path that the text may import to the text of that file.
        `from_path` describes the other parameters.
        """
    @staticmethod
    def from_artifact(
        artifact: bytes | str | PathLike[str],
        *,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        trusted: Iterable[str] | None = None,
        tier: str | None = None,
        index: str | None = None,
        allow_missing_functions: bool = False,
    ) -> Rules:
        """Loads an artifact (compiled rules) of `rulec build` or `to_artifact`, from bytes or a file.
        `trusted` are public keys as PEM text; if given, one of them must have signed the artifact.
        `from_path` describes the other parameters.
        """
    @staticmethod
    def from_flows(document: Any, *, strict: bool = False, literal: bool = False) -> Rules:
        """Loads keyword flows and intent flows (found by meaning) from a JSON document of another
        system. `document` is JSON text or Python values. An item that cannot be used is skipped,
        and `report` names the item. With `strict`, such an item is an error. With `literal`,
        patterns match literally, as `==` and `in` of Python do.
        """
    @staticmethod
    def from_routes(document: Any, *, strict: bool = False) -> Rules:
        """Loads message routes from a JSON document of another system. The parameters are as in
        `from_flows`.
        """
    @staticmethod
    def from_choices(document: Any, *, strict: bool = False) -> Rules:
        """Loads the branches of one or several choices from a JSON document of another system. The
        parameters are as in `from_flows`.
        """
    @staticmethod
    def from_payload_context(document: Any, *, strict: bool = False, rules: Rules | None = None) -> Rules:
        """Loads `rules`, or the bundled rules for decision payloads. `document` is the context that
        the rules read: JSON text or Python values, as in `from_flows`. Payload checkers of the
        loaded rules use this context.
        """
    @property
    def report(self) -> list[ReportItem]:
        """The result of loading each item of the JSON document. Empty if the rules were not loaded
        from a document.
        """
    def export(self, system: str) -> tuple[Any, list[ReportItem]]:
        """Writes the rules as a document of another system: `routes`, `choice` or `flows`. Returns the
        document, and a report on the rules that the document cannot express.
        """
    def original(self, name: str) -> str:
        """Returns the name that a route or branch has in the JSON document, given the name in these
        rules. Loading may have changed the name.
        """
    def to_artifact(self, *, strip_source: bool = False, sign: str | None = None) -> bytes:
        """Returns the compiled rules as an artifact, which `from_artifact` loads. `strip_source`
        leaves out the text of the rules. `sign` is a private key as PEM text.
        """
    def decide(self, message: _Message | Prepared, *, entry: str | None = None) -> Decision:
        """Decides a message: a dict, a dataclass, a pydantic model or a `Prepared`. `entry` names the
        table, choice or router that decides. By default, the routes outside any table decide, or
        else the only choice, router or set of flows.
        """
    def decide_json(self, text: str | bytes, *, entry: str | None = None) -> Decision:
        """Decides a message given as JSON text. `entry` names the table, choice or router that
        decides; by default, the routes outside any table decide, or else the only choice, router
        or set of flows.
        """
    def decide_many(self, messages: Iterable[_Message | Prepared], *, entry: str | None = None) -> list[Decision]:
        """Decides a sequence of messages by `entry`, as in `decide_json`. The error for an invalid
        message contains the index of the message.
        """
    def decide_json_many(
        self, texts: Iterable[str | bytes], *, entry: str | None = None, threads: int = 1
    ) -> list[Decision]:
        """Decides a sequence of messages given as JSON text, on `threads` threads, without the
        interpreter lock. The error for an invalid message contains the index of the message.
        """
    def session(self, *, entry: str | None = None, history: _History | None = None) -> Session:
        """Returns a session, which decides many messages in one thread as fast as possible. `history`
        is a store of recorded messages, which the session reads and extends.
        """
    def matched(
        self, message: _Message | Prepared, *, entry: str | None = None, history: _History | None = None
    ) -> list[str]:
        """Returns the names of all matching routes of `entry` (by default, of the routes outside any
        table), in evaluation order. The rules read the recorded messages in the store `history`.
        """
    def explain(
        self,
        message: _Message | Prepared,
        *,
        entry: str | None = None,
        show_private: bool = False,
        history: _History | None = None,
    ) -> Explanation:
        """Explains the decision about a message. The rules read the recorded messages in the store
        `history`.
        """
    def analyze(self, text: str, ctx: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Analyses a text: its intent, entities, keywords and urgency. If the rules define a context
        score by `let context_score`, also computes this score for the object `ctx`.
        """
    def prepare(self, message: _Message) -> Prepared:
        """Reads the fields of a message and returns the prepared message. Several decisions can use
        the prepared message without reading the fields again.
        """
    @property
    def entries(self) -> list[str]:
        """The names of the tables, choices and routers that can decide, of `flows`, and of the routes
        outside tables: `routes`.
        """
    @property
    def targets(self) -> list[str]:
        """The names of all handlers that a decision may select."""
    @property
    def warnings(self) -> list[Diagnostic]:
        """The warnings that `rulec check` prints: warnings of the compiler, and findings of the
        analysis. The analysis runs when this attribute is first read.
        """
    @property
    def has_history(self) -> bool:
        """True if the rules have a `history` statement."""
    @property
    def generation(self) -> int:
        """The generation: a number that is unique in this process, and greater for later rule sets."""
    def required_permissions(self, handler: str) -> list[str]:
        """Returns the permissions that a handler requires."""
    def next_nodes(self, router: str, output: Any, all_next_ids: Sequence[str]) -> list[str]:
        """Returns the ids of the nodes that receive the output of a workflow node. The router `router`
        selects them. `all_next_ids` lists all next nodes of the node, in order.
        """
    @property
    def kinds(self) -> list[str]:
        """The names of the payload kinds."""
    def judge(
        self,
        kind: str,
        *,
        inputs: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        strict: bool = False,
        history: _History | None = None,
    ) -> Judge:
        """Creates a checker for payloads of one kind. `inputs` maps names of the rules' inputs to
        values. `options` is the value of the input `options`. With `strict`, a payload that
        violates a warning rule is rejected too. The rules read the recorded messages in the store
        `history` whose history key (such as a user id) is in `inputs`.
        """
    def judge_by(
        self,
        field: str,
        *,
        inputs: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        strict: bool = False,
        history: _History | None = None,
    ) -> JudgeByField:
        """Creates a checker of payloads of all kinds. The field `field` of a payload names its kind. A
        payload without a known kind is rejected. `judge` describes the other parameters.
        """
    def models(self) -> Models:
        """Returns pydantic model classes for the message, the payloads and the handlers' arguments."""
    def schema(self, kind: str) -> dict[str, Any]:
        """Returns the JSON Schema of a payload kind."""
    def draw(self, name: str | None = None, *, format: str = "mermaid") -> str:
        """Draws a workflow, table, choice or router, as `rulec graph` does. Without a name, draws all
        of them. `format` is `mermaid`, `dot` or `svg`.
        """
    def input_schema(self) -> dict[str, Any]:
        """Returns the JSON Schema of messages, as `input` declares it."""
    def args_schema(self, handler: str) -> dict[str, Any]:
        """Returns the JSON Schema of a handler's arguments."""
    def flows(self, *, client: HttpClient | None = None) -> Flows:
        """Creates a finder of flows. The finder finds keyword flows by patterns, and intent flows by
        the built-in classifier. With a `client`, the finder also executes flows.
        """
    def arbitrate(self, decisions: Sequence[tuple[str, str]]) -> dict[str, Any]:
        """Orders proposed decisions by the ranks that the rules declare: which one runs first, which
        wait, and which are dropped. `decisions` are pairs of an id and a payload kind, in order of
        arrival.
        """
    def question(self, name: str) -> Question:
        """Returns the question that a language model answers to make the choice `name`."""
    @property
    def questions(self) -> list[Question]:
        """The questions of all choices that a language model makes."""
    @property
    def choices(self) -> list[str]:
        """The names of the choices."""
    def choice_tool(self, name: str) -> dict[str, Any]:
        """Returns the definition of a choice as a tool that a language model may call."""
    def reasons(self, name: str, message: _Message | Prepared) -> list[str]:
        """Explains the outcome of a choice as text for the user, one sentence per reason."""
    def analyse(self, *, strict_ties: bool = False) -> list[Finding]:
        """Analyses the rules as `rulec check` does. Finds, for example, routes that can never match,
        and routes that can match the same message. With `strict_ties`, an overlap of routes with
        different targets is a finding even if no route sets a priority.
        """
    def warm_up(self) -> None:
        """Prepares the execution engine now instead of at the first decision. With the tier `jit`,
        this compiles machine code. Raises `RulecError` if the engine cannot run on this machine.
        """
    @property
    def texts(self) -> list[tuple[str, str]]:
        """The texts of the rule files, as pairs of the file's name and its text. A text is empty if
        the rules were loaded from an artifact without it.
        """
    def masked_message(self, message: _Message | Prepared) -> dict[str, Any]:
        """Returns a message for logs: the values of `@private` fields are masked."""
    def cost(self) -> list[dict[str, Any]]:
        """Returns the estimated cost of each table's routes, as `rulec check --cost` prints it."""
    def overlaps(self, table: str = "routes") -> dict[str, Any]:
        """Returns the pairs of routes of a table that can match the same message."""
    def run_tests(self, *, show_private: bool = False) -> list[TestResult]:
        """Runs the `test` blocks. The results show the values of `@private` fields only if
        `show_private` is true.
        """
    def diff(self, new: Rules) -> dict[str, Any]:
        """Compares these rules with a newer version, as `rulec diff` does. Returns a dict with the
        messages that the versions decide differently. Its key `verdict` is `same`, `different` or
        `unknown`.
        """
    def why_not(
        self,
        message: _Message | Prepared,
        route: str,
        *,
        entry: str | None = None,
        show_private: bool = False,
        history: _History | None = None,
    ) -> dict[str, Any]:
        """Finds the smallest change of `message` after which `entry` would choose `route`. Without
        `entry`, the default entry (such as a table) decides. The result shows the values of
        `@private` fields only if `show_private` is true. The rules read the recorded messages in
        the store `history`.
        """
    def skipped(
        self, choice: str, message: _Message | Prepared, *, history: _History | None = None
    ) -> list[dict[str, str]]:
        """Returns the conditions of a choice that were skipped, because a value that they read is
        missing. The rules read the recorded messages in the store `history`.
        """
    def _repr_html_(self) -> str: ...

@final
class Finding:
    """A finding of the analysis, with a message that demonstrates it.

    >>> rules = Rules.from_text("route a when n > 3 -> x\\nroute b when n > 9 -> y\\ndefault -> z")
    >>> [finding.diagnostic.message for finding in rules.analyse()]
    ['`b` can never be chosen: `a` matches every message that it matches']
    """

    @property
    def diagnostic(self) -> Diagnostic:
        """The finding, as an error or warning about the text of the rules."""
    @property
    def witness(self) -> dict[str, Any] | None:
        """An example message that shows the problem. None if the problem concerns every message, or
        cannot be shown by a message.
        """

@final
class TestResult:
    """The outcome of a `test` block.

    >>> rules = Rules.from_text('default -> chat\\ntest "hello" { given text = "hello" expect default }')
    >>> [(test.name, test.passed) for test in rules.run_tests()]
    [('hello', True)]
    """

    @property
    def name(self) -> str:
        """The name of the `test` block."""
    @property
    def passed(self) -> bool:
        """True if the actual result is the expected one."""
    @property
    def expected(self) -> str:
        """The expected result, as `rulec test` prints it."""
    @property
    def actual(self) -> str:
        """The actual result, in the format of `expected`."""
    @property
    def explanation(self) -> Explanation | None:
        """The explanation of the decision; None if the test passed."""
    @property
    def file(self) -> str | None:
        """The file of the test; None if the text of the rules is not available."""
    @property
    def line(self) -> int | None:
        """The line of the test's name, from 1; None if the text of the rules is not available."""

@final
class Condition:
    """A condition that is given as text at run time.

    >>> condition = Condition.compile('rows > 10 and ${fetch.status} == "ok"')
    >>> condition.holds({"rows": 12, "fetch": {"status": "ok"}})
    True
    """

    @staticmethod
    def compile(text: str) -> Condition:
        """Compiles a condition. A name in the condition is a field of the values that `holds`
        receives. `${a.b}` is the path `a.b`.
        """
    def holds(self, values: _Message) -> bool:
        """True if the condition holds. A comparison with a missing value never holds."""

@final
class Edit:
    """An edit of live rules; `LiveRules.edit` applies a list of edits at once.

    >>> Edit.remove("money") == Edit.remove("money", table="routes")
    True
    """

    @staticmethod
    def insert(statement: str, *, table: str | None = None, file: str | None = None) -> Edit:
        """Inserts a statement, into `table` if given, otherwise at the top level. `file` is needed
        only to insert into a file other than the main file.
        """
    @staticmethod
    def replace(statement: str, *, table: str | None = None, file: str | None = None) -> Edit:
        """Replaces the statement that has the same keyword and name, in `table` if given. `file` is
        needed only if several files contain such a statement.
        """
    @staticmethod
    def remove(name: str, *, table: str | None = None, file: str | None = None) -> Edit:
        """Removes a statement, given by its keyword and name, from `table` if given. A bare name means
        a route. `file` is needed only if several files contain such a statement.
        """

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
    ) -> LiveRules:
        """Compiles a file and its imports. The parameters are as in `Rules.from_path`. An edit may
        import further files of the folder.
        """
    @staticmethod
    def from_text(
        text: str,
        *,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        imports: Mapping[str, str] | None = None,
        tier: str | None = None,
        index: str | None = None,
    ) -> LiveRules:
        """Compiles a text. The parameters are as in `Rules.from_text`."""
    @staticmethod
    def from_artifact(
        artifact: bytes | str | PathLike[str],
        *,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        trusted: Iterable[str] | None = None,
        tier: str | None = None,
        index: str | None = None,
    ) -> LiveRules:
        """Loads an artifact (compiled rules), from bytes or a file; see `Rules.from_artifact`. Its
        rules cannot be edited.
        """
    def decide(self, message: _Message | Prepared, *, entry: str | None = None) -> Decision:
        """Decides a message by the current rules. The parameters are as in `Rules.decide`."""
    def decide_json(self, text: str | bytes, *, entry: str | None = None) -> Decision:
        """Decides a message given as JSON text."""
    def decide_many(self, messages: Iterable[_Message | Prepared], *, entry: str | None = None) -> list[Decision]:
        """Decides a sequence of messages, each by the rules that are active when it is decided. The
        error for an invalid message contains the index of the message.
        """
    def decide_and_record(self, message: _Message, *, history: _History) -> Decision:
        """Decides a message by the routes outside any table, and records the message. The rules read
        the messages with the same history key (such as a user id) in the store `history`. No other
        message with this key is recorded between the decision and the recording. Edits of the rules
        do not change the store.
        """
    def decide_with_history(
        self, message: _Message, *, history: _History, entry: str | None = None
    ) -> Decision:
        """Decides a message without recording it. The rules read the messages with the same history
        key (such as a user id) in the store `history`.
        """
    def record(self, message: _Message, decision: Decision, *, history: _History) -> None:
        """Records a message with the decision about it, for example after the handler succeeded."""
    def observe(self, message: _Message, *, history: _History) -> None:
        """Records a message without deciding it, such as the result of a tool."""
    def matched(self, message: _Message | Prepared, *, entry: str | None = None) -> list[str]:
        """Returns the names of all matching routes of `entry`, in evaluation order."""
    def explain(
        self,
        message: _Message | Prepared,
        *,
        entry: str | None = None,
        show_private: bool = False,
        history: _History | None = None,
    ) -> Explanation:
        """Explains how the current rules decide a message. Pending edits are compiled first. The rules
        read the recorded messages in the store `history`.
        """
    def insert(self, statement: str, *, table: str | None = None, file: str | None = None) -> int:
        """Inserts a statement, into `table` if given. Returns the new generation: the version number
        of the rules, which every edit increases.
        """
    def replace(self, statement: str, *, table: str | None = None, file: str | None = None) -> int:
        """Replaces the statement that has the same keyword and name. Returns the new generation
        (version number of the rules).
        """
    def remove(self, name: str, *, table: str | None = None, file: str | None = None) -> int:
        """Removes a statement, given by its keyword and name. A bare name means a route. Returns the
        new generation (version number of the rules).
        """
    def edit(self, edits: Sequence[Edit]) -> int:
        """Applies a list of edits as one change: a decision sees all of the edits or none. Returns the
        new generation (version number of the rules).
        """
    def contains(self, route: str, *, table: str = "routes") -> bool:
        """True if the table `table` has a route named `route`."""
    def merge(self) -> None:
        """Compiles the pending edits into the rule set now. Without this call, a background thread
        compiles them later.
        """
    def snapshot(self) -> Rules:
        """Returns an unchanging copy of the rules, with all edits."""
    @property
    def pending(self) -> int:
        """The number of edits that are not yet compiled into the rule set."""
    @property
    def generation(self) -> int:
        """The generation: the version number of the rules, which every edit increases."""
    @property
    def texts(self) -> list[tuple[str, str]]:
        """The texts of the rule files with all edits, as pairs of the file's name and its text."""

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
    def generation(self) -> int:
        """The generation (version number) of the rules that became active most recently."""
    @property
    def loaded(self) -> int:
        """The number of versions of the files that became active, including the first."""
    @property
    def refused(self) -> int:
        """The number of versions of the files that were refused because they could not be loaded."""
    @property
    def error(self) -> str | None:
        """The reason why the current version of the files is not active; None if it is active."""
    @property
    def report(self) -> list[ReportItem]:
        """The result of loading each item of the JSON document whose rules became active most
        recently. Empty if the file is no such document.
        """

@final
class WatchedRules:
    """Rules that follow a file: a rule file with its imports, an artifact (compiled rules), or a JSON
    document of another system. A version that cannot be loaded is refused, and the last good
    version stays active.

    `functions` maps names to functions that the rules may call. `log` is a `DecisionLog`, the path
    of a log file, or a function that receives each line. `trusted` are public keys as PEM texts. If
    given, only artifacts that one of them signed are loaded, and neither texts nor documents.
    `Rules.from_path` describes `root`, `tier` and `index`.

    `system` names the system of a JSON document; a `.json` file needs no name if its shape shows
    the system. An item that cannot be used is skipped, and `status.report` names it; with `strict`,
    it makes the version fail. With `literal`, patterns of flows match literally.

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
    def decide(self, message: _Message | Prepared, *, entry: str | None = None) -> Decision:
        """Decides a message by the active version of the file. Counts and logs the decision. `entry`
        names the table, choice or router that decides.
        """
    def explain(
        self, message: _Message | Prepared, *, entry: str | None = None, show_private: bool = False
    ) -> Explanation:
        """Explains how the active version decides a message. Neither counts nor logs the decision."""
    def flows(self, *, client: HttpClient | None = None) -> Flows:
        """Creates a finder of flows, which always uses the active version of the file. With a
        `client`, the finder also executes flows.
        """
    @property
    def rules(self) -> LiveRules:
        """The active version of the rules. Its decisions are neither counted nor logged."""
    @property
    def status(self) -> WatchStatus:
        """The current state of the watched file."""
    def changed(self, *, since: WatchStatus | None = None) -> Future[WatchStatus]:
        """Waits until the status differs from `since` (default: the current status), because a version
        of the file became active or was refused. Several calls may wait at the same time.
        """
    def check(self) -> None:
        """Requests a check whether the file has changed, and returns without waiting for its result."""
    def stats(self) -> dict[str, Any]:
        """Returns counts and latencies by route, like `Router.stats`."""

@final
class RulesInForce:
    """The rules in force of live rules, of a watched file or of a router. For classes that follow
    them; fixed `Rules` are accepted too.

    >>> live = LiveRules.from_text("default -> chat")
    >>> in_force = RulesInForce(live)
    >>> in_force.current() is in_force.current()
    True
    >>> generation = live.replace("default -> person")
    >>> in_force.current().decide({}).target
    'person'
    """

    def __new__(cls, rules: _RulesInForce) -> RulesInForce: ...
    def current(self) -> Rules:
        """Returns the active rules, with all edits. Returns the same object until the rules change."""

@final
class Judge:
    """A checker of payloads of one kind.

    >>> rules = Rules.from_text("payload refund rank 1 { amount: number in 0..=500 }")
    >>> rules.judge("refund").judge({"amount": 20}).is_accepted
    True
    """

    @property
    def kind(self) -> str:
        """The payload kind that this object checks."""
    def judge(self, payload: _Message | str) -> Judgement:
        """Checks a payload, given as a dict, a dataclass, a pydantic model or JSON text."""
    def why(self, payload: _Message) -> list[dict[str, Any]]:
        """Explains each violated rule, with the values that its condition read. Errors come first,
        then warnings.
        """
    def masked_payload(self, payload: _Message) -> dict[str, Any]:
        """Returns a payload for logs: the values of `@private` fields are masked."""
    def schema(self) -> dict[str, Any]:
        """Returns the JSON Schema of the payloads that this object checks."""

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

    def judge(self, payload: _Message | str) -> Judgement:
        """Checks a payload, given as a dict, a dataclass, a pydantic model or JSON text. Rejects a
        payload whose field names no kind of the rules.
        """

@final
class Violation:
    """A violation of a payload rule.

    >>> rules = Rules.from_text("payload refund rank 1 { amount: number in 0..=500 }")
    >>> [violation] = rules.judge("refund").judge({"amount": 900}).violations
    >>> violation.rule, violation.path
    ('refund.amount.range', '$.amount')
    """

    @property
    def rule(self) -> str:
        """The name of the violated rule."""
    @property
    def path(self) -> str:
        """The path of the value that violates the rule, such as `$.amount`."""
    @property
    def message(self) -> str:
        """The message of the rule."""
    @property
    def repair(self) -> str:
        """An advice how to repair the value; empty if the rule has none."""

@final
class Judgement:
    """The result of checking a payload.

    >>> rules = Rules.from_text('payload refund rank 1 { currency: string default "EUR" }')
    >>> judgement = rules.judge("refund").judge({})
    >>> judgement.outcome, judgement.corrected
    ('accept_corrected', {'currency': 'EUR'})
    """

    @property
    def kind(self) -> str:
        """The payload kind by whose rules the payload was checked."""
    @property
    def outcome(self) -> str:
        """The outcome of the check: `accept`, `accept_corrected` or `reject`."""
    @property
    def is_valid(self) -> bool:
        """True if the payload violates no rule, even without corrections."""
    @property
    def is_accepted(self) -> bool:
        """True if the payload or its corrected copy may be used."""
    @property
    def violations(self) -> list[Violation]:
        """The violated rules, sorted by the name of the rule and then by the path."""
    @property
    def remaining(self) -> list[Violation]:
        """The violations that remain after the corrections; empty if nothing was corrected."""
    @property
    def warnings(self) -> list[Violation]:
        """The violated rules that only warn. They do not affect the outcome."""
    @property
    def corrections(self) -> list[tuple[str, str]]:
        """The applied corrections, as pairs of the correction's kind (`default`, `clamp` or `remove`)
        and the path of the corrected value.
        """
    @property
    def unchecked(self) -> list[tuple[str, str, str]]:
        """The rules that could not be checked, as tuples of the rule's name, the path and the reason."""
    @property
    def corrected(self) -> dict[str, Any] | None:
        """The corrected payload. None if the payload was rejected or needed no correction."""
    @property
    def masked_correction(self) -> dict[str, Any] | None:
        """The corrected payload for logs: the values of `@private` fields are masked. None if there is
        no corrected payload.
        """
    @property
    def exceeded(self) -> list[dict[str, Any]]:
        """The limits that the payload exceeded, as dicts. A value over a limit counts as missing."""
    @property
    def fallback(self) -> str | None:
        """The payload kind to propose instead of a rejected payload. None if the rules name none."""
    @property
    def history_gap(self) -> str | None:
        """Why the rules may have read fewer recorded messages than there were: `no_key` or `dropped`.
        None if the history was complete.
        """
    def feedback(self) -> str:
        """Returns the result of the check as text that a language model can act on."""
    def to_json(self) -> str:
        """Returns the result of the check as JSON text, as `rulec run --decision` prints it."""
    def to_dict(self) -> dict[str, Any]:
        """Returns the result of the check as a dict."""
    def _repr_html_(self) -> str: ...

@final
class FlowHit:
    """A flow that was found for a text. `pattern` is the keyword that matched; `score` is the
    classifier's.

    >>> rules = Rules.from_text('flow hello keyword exact ["hello"] -> "greeting"')
    >>> hit = rules.flows().find("Hello")
    >>> hit.id, hit.pattern, hit.score
    ('greeting', 'hello', None)
    """

    @property
    def id(self) -> str:
        """The id of the flow."""
    @property
    def name(self) -> str:
        """The name of the flow."""
    @property
    def pattern(self) -> str | None:
        """The pattern that matched; None if the classifier found the flow."""
    @property
    def score(self) -> float | None:
        """The classifier's score; None if a pattern matched."""

@final
class Flows:
    """A finder of flows, by keywords and then by the built-in classifier of intents.

    It follows live rules, watched rules or the rules of a router. With a `client`, it also executes
    flows.

    >>> flows = Rules.from_text('flow hello keyword exact ["hello"] -> "greeting"').flows()
    >>> flows.find("good bye") is None
    True
    """

    def __new__(cls, rules: _RulesInForce, *, client: HttpClient | None = None) -> Flows: ...
    def find(self, text: str) -> FlowHit | None:
        """Returns the flow for a text; None if no flow fits the text."""
    def nearest(self, text: str) -> list[FlowHit]:
        """Returns the intent flows (flows found by the meaning of a text) that are most similar to a
        text, best first. Empty if `find` returns a flow for the text.
        """
    @property
    def endpoint(self) -> dict[str, Any] | None:
        """The HTTP request that executes a flow, as the rules declare it. None if the rules declare
        none.
        """
    def execute(
        self,
        flow: FlowHit | str,
        context: Mapping[str, Any] | None = None,
        *,
        arguments: Mapping[str, Any] | None = None,
    ) -> Future[Response]:
        """Executes a flow by sending the request of `endpoint`. `flow` is a `FlowHit` or the id of a
        flow. In the request, `{name}` is replaced by one of the `arguments`, and `#name#` by a
        field of the `context`.
        """
    @property
    def prompt(self) -> str:
        """The section of a language model's prompt that lists the intent flows (flows found by
        meaning); empty if there are none.
        """
    @property
    def tool(self) -> dict[str, Any]:
        """The definition of the tool that a language model calls to select an intent flow (a flow
        found by meaning).
        """
    @property
    def intents(self) -> list[str]:
        """The ids of the intent flows, which are found by the meaning of a text."""

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
    def name(self) -> str:
        """The name of the choice."""
    @property
    def text(self) -> str:
        """The question, as the rules state it."""
    @property
    def branches(self) -> list[str]:
        """The ids of the branches, from which the model chooses."""
    @property
    def default_branch(self) -> str:
        """The id of the branch that is taken if the model does not answer."""
    @property
    def to_user(self) -> bool:
        """True if the rules declare that the user should see the answer and its reason."""
    @property
    def prompt(self) -> str:
        """The section of the model's prompt that contains the question."""
    @property
    def tool(self) -> dict[str, Any]:
        """The definition of the tool that the model calls to answer."""
    def request(self, message: _Message) -> ModelRequest:
        """Returns the prompt and the tool that a model needs to answer the question for a message."""
    def known(self, message: _Message) -> str | None:
        """Returns the fields of a message as JSON text for the model. The fields `text` and `answers`
        are left out, and private values are masked. None if no other fields exist.
        """

@final
class Policy:
    """How a router calls a handler that may be slow or fail. Times are in seconds.

    `time_limit` applies to one handler, and `chain_limit` to the handler with its retries and
    fallbacks. `retries` are the number of retries and the pause before the first one. `circuit` are
    the number of failures after which the handler is not called, and for how long. `fallbacks` name
    the handlers that are tried in its place.

    >>> import asyncio
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
    """The argument of a handler: the message, and the decision about it.

    >>> import asyncio
    >>> def many(request):
    ...     return request.route, request.args
    >>> async def main():
    ...     router = Router(Rules.from_text("route big when n > 9 -> many(n: n)"), {"many": many})
    ...     return (await router.route({"n": 12})).reply
    >>> asyncio.run(main())
    ('big', {'n': 12})
    """

    @property
    def message(self) -> Any:
        """The Python object that the caller passed to the router, or a copy that a hook has changed."""
    @property
    def text(self) -> str:
        """The field `text` of the message; empty if the message has no such text."""
    @property
    def args(self) -> dict[str, Any]:
        """The arguments that the rules give to the handler, by name."""
    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata that the rules attach to the route."""
    @property
    def route(self) -> str:
        """The name of the chosen route."""
    @property
    def handler(self) -> str:
        """The name of the handler that is called: the target of the route, or a fallback."""
    @property
    def attempt(self) -> int:
        """The number of this attempt to call the handler, from 1."""
    @property
    def generation(self) -> int:
        """The generation (version number) of the rules that decided."""

@final
class Outcome:
    """The result of routing a message to a handler: the reply, or the error.

    >>> import asyncio
    >>> def many(request):
    ...     raise ConnectionError("no line")
    >>> async def main():
    ...     return await Router(Rules.from_text("default -> many"), {"many": many}).route({})
    >>> outcome = asyncio.run(main())
    >>> outcome.reply, outcome.error
    (None, 'the handler of `default` failed: ConnectionError: no line')
    """

    @property
    def kind(self) -> str:
        """The kind of the outcome: `handled`, `failed`, `timed_out`, `refused`, `circuit_open`,
        `invalid` or `no_route`.
        """
    @property
    def route(self) -> str | None:
        """The name of the chosen route; None if no route was chosen."""
    @property
    def handler(self) -> str | None:
        """The name of the handler; None if no route was chosen."""
    @property
    def reply(self) -> Any:
        """The object that the handler returned; None if the message was not handled."""
    @property
    def error(self) -> str | None:
        """The failure as text; None if the message was handled."""
    @property
    def exception(self) -> BaseException | None:
        """The exception that the handler raised; None if the message was handled or no handler raised."""
    @property
    def breaches(self) -> list[dict[str, Any]]:
        """The fields of the message that break the declared `input`, as dicts; see
        `Decision.breaches`. `hint` names a field that is probably misspelt.
        """
    @property
    def missing_args(self) -> list[str]:
        """The names of required arguments whose values were missing; these arguments are None."""
    @property
    def tried(self) -> list[dict[str, Any]]:
        """The handlers that did not reply before a fallback was called, as dicts with `handler`,
        `attempts`, `result` (as in `kind`) and `error`.
        """
    @property
    def elapsed_us(self) -> int:
        """The time from the arrival of the message until its last handler ended or was given up, in
        microseconds. If a handler blocks the event loop, the caller may get the outcome later.
        """
    @property
    def fallback(self) -> str | None:
        """The name of the fallback that replied in place of the handler; None if none did."""
    @property
    def attempts(self) -> int:
        """The number of calls of handlers, with retries and fallbacks."""
    @property
    def generation(self) -> int:
        """The generation (version number) of the rules that decided."""
    def to_json(self) -> str:
        """Returns the outcome as JSON text. A reply that has no JSON form is written as its `repr`."""
    def to_dict(self) -> dict[str, Any]:
        """Returns the outcome as a dict. A reply that has no JSON form is written as its `repr`."""

@final
class Finished:
    """The argument of the hook `after` of a router: a message and its outcome.

    >>> import asyncio
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
    def message(self) -> Any:
        """The message, as the caller passed it or a hook changed it."""
    @property
    def outcome(self) -> Outcome:
        """The outcome of the message."""

@final
class Router:
    """Decides messages, and awaits their handlers on the event loop of the caller.

    `handlers` maps each target of the rules to a function or an async function of a `Request`.
    `otherwise` handles the targets that have no handler of their own. `entry` names the table,
    choice or router that decides. `policies` maps names of handlers to policies.

    `permissions` returns the permissions of a message's sender. `log` is a `DecisionLog`, the path
    of a log file, or a function that receives each line. With `log_analysis`, the lines contain the
    analysis of each text. `before` may replace a message before it is decided, and `after` the
    reply. `error_scope` names the group of messages in which failures of handlers are counted.
    `keep` is the number of earlier rule sets to which `roll_back` can return.

    >>> import asyncio
    >>> async def chat(request):
    ...     return f"you wrote {request.text}"
    >>> async def main():
    ...     return await Router(Rules.from_text("default -> chat"), {"chat": chat}).route({"text": "hello"})
    >>> asyncio.run(main()).reply
    'you wrote hello'
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
    ) -> Coroutine[Any, Any, Outcome]:
        """Decides a message and awaits the chosen handler; `permissions` are the sender's permissions."""
    def _begin(self, message: Any, permissions: Sequence[str] | None) -> Outcome | Started | Future[Outcome]: ...
    def swap(self, rules: Rules | LiveRules) -> int:
        """Replaces the rules, and returns the generation (version number) of the new rules."""
    def edit(self, edits: Sequence[Edit]) -> int:
        """Applies edits to the active rules as one change. Returns the new generation (version
        number).
        """
    def shadow(self, rules: Rules | LiveRules) -> int:
        """Sets shadow rules: they decide every message too, only to compare the decisions. Returns the
        generation (version number) of the shadow rules, for `promote`.
        """
    def shadow_stats(self) -> dict[str, Any] | None:
        """Returns how often the shadow rules decide differently from the active rules; None if there
        are no shadow rules.
        """
    def end_shadow(self) -> dict[str, Any] | None:
        """Removes the shadow rules. Returns how often they decided differently from the active rules;
        None if there were no shadow rules.
        """
    def promote(self, generation: int) -> int:
        """Makes the shadow rules with this generation (version number) active. Returns the generation."""
    def roll_back(self, generation: int) -> int:
        """Makes the earlier rules with this generation (version number) active again. Returns the
        generation.
        """
    def generations(self) -> dict[str, Any]:
        """Returns the generations (version numbers) of the active, shadow and earlier rules."""
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
    ) -> Future[Watch]:
        """Watches a rule file, an artifact (compiled rules) or a JSON document. The current version of
        the file becomes active at once, and each later version when it is written. A version that
        cannot be loaded is refused, and the last good version stays active. The watching ends when
        the router watches another file, or when the router or the returned `Watch` is closed.
        `functions` are the Python functions that the rules call, by name. `WatchedRules` describes
        the other parameters.
        """
    @property
    def rules(self) -> LiveRules:
        """The rules that are active now. After `swap`, this attribute returns the new rules."""
    @property
    def warnings(self) -> list[str]:
        """Warnings about the current rules."""
    def stats(self) -> dict[str, Any]:
        """Returns counts and latencies of routes and handlers. `latency_bounds_us` has the upper
        bounds of the buckets of each latency, in microseconds; the last bucket has none.
        """
    def close(self) -> Future[None]:
        """Stops watching the rule file, if the router watches one. Returns a future that waits until
        all lines of the decision log are written, and closes the log: `await router.close()`.
        """

@final
class Started:
    """A message whose handler the caller of `route` awaits; for the package itself.

    >>> import asyncio
    >>> async def main():
    ...     router = Router(Rules.from_text("default -> chat"), {"chat": lambda request: "hi"})
    ...     started = router._begin({}, None)
    ...     return started.finish(started.start()).reply
    >>> asyncio.run(main())
    'hi'
    """

    def start(self) -> Any:
        """Calls the handler. The result may be awaitable."""
    def finish(self, reply: Any) -> Outcome | None:
        """Returns the outcome of the message, with the handler's reply. None after an earlier call of
        `finish`, `fail` or `cancel`.
        """
    def fail(self, exception: BaseException) -> Outcome | None:
        """Returns the outcome of the message, with the exception that the handler raised. None after
        an earlier call of `finish`, `fail` or `cancel`.
        """
    def cancel(self) -> None:
        """Counts the message as cancelled, because the caller stopped waiting for the handler."""

@final
class Watch:
    """A file whose versions a router takes while it serves; see `Router.watch`.

    The router watches it until it watches another file, or until `close` of the watch or the
    router. `changed` waits for the next change after the call, or after the status `since`.

    >>> import asyncio
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
    def status(self) -> WatchStatus:
        """The current state of the watched file."""
    def changed(self, *, since: WatchStatus | None = None) -> Future[WatchStatus]:
        """Waits until the status differs from `since` (default: the current status), because a version
        of the file became active or was refused. Several calls may wait at the same time.
        """
    def check(self) -> None:
        """Requests a check whether the file has changed, and returns without waiting for its result."""
    def close(self) -> None:
        """Stops watching the file. The rules that are active now stay active."""

@final
class DecisionLog:
    """A decision log: one line of JSON per decision, in a file or passed to a function. Values of
    `@private` fields are masked.

    `target` is the path of a file to append to, or a function. The function receives each line as
    text, on a separate thread. `message`, `explanation` and `analysis` select what a line contains.
    At most `capacity` lines wait; further lines are dropped and counted.

    >>> import asyncio
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
    def stats(self) -> dict[str, Any]:
        """Returns the numbers of lines that were written, were dropped, and could not be written, and
        the last error.
        """
    def flush(self) -> Future[dict[str, Any]]:
        """Waits until the lines of all earlier decisions are written. Returns the same as `stats()`."""
    def close(self) -> Future[dict[str, Any]]:
        """Waits like `flush`, then closes the log. Later decisions are counted as dropped."""

def json_lines(answers: Any, first: int = 1) -> bytes:
    """Converts a batch of answers to JSON lines, equal to the output of `rulec run` for the same
    messages. `first` is the line number of the first answer.
    """

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
    ) -> Columns:
        """Binds the rules to the columns of a schema. `entry` names the table, choice or router that
        decides; `None` means the routes outside any table, or else the only choice, router or set
        of flows. `json` names the columns whose texts are read as JSON. If `allow_missing` is true,
        a field that the rules read may have no column, and is then missing in every row. If
        `matched` is true, each answer lists all matching routes.
        """
    @staticmethod
    def of_judge(judge: Judge, schema: Any, *, json: Sequence[str] | None = None) -> Columns:
        """Binds a checker of payloads to the columns of a schema. `json` names the columns whose texts
        are read as JSON.
        """
    @property
    def schema(self) -> Any:
        """The Arrow schema of the answers."""
    def answer(self, batch: Any) -> Any:
        """Decides or checks each row of a record batch. Returns a batch with one answer per row, in
        the same order.
        """
    def answer_stream(self, stream: Any) -> Any:
        """Returns a stream of answers. Reads and answers a batch of `stream` only when its answers are
        requested.
        """

@final
class Stop:
    """The result by which a middleware stops an event, with the reason.

    >>> Stop("too much").reason
    'too much'
    """

    def __new__(cls, reason: str) -> Stop: ...
    @property
    def reason(self) -> str:
        """The reason, which reports name."""

@final
class Published:
    """How an event was delivered.

    >>> import asyncio
    >>> async def main():
    ...     return await Bus(middleware={"judge": lambda event: Stop("too much")}).publish(7)
    >>> asyncio.run(main()).stopped_by
    '`judge` stopped the event: too much'
    """

    @property
    def delivered(self) -> int:
        """The number of subscribers whose queue received the event."""
    @property
    def dropped(self) -> int:
        """The number of subscribers whose full queue dropped an event."""
    @property
    def stopped_by(self) -> str | None:
        """A sentence with the name of the middleware that stopped the event, and the reason. None if
        no middleware stopped the event.
        """

@final
class Bus:
    """An event bus. An event passes through the middleware and is then queued for each subscriber.

    `middleware` maps names to functions, which are called in order with each event. A middleware
    returns a changed event, None to pass the event on, or a `Stop`. `time_limit` is the time limit
    of one call in seconds.

    >>> import asyncio
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
    def add_middleware(self, function: Callable[[Any], Any], *, name: str | None = None) -> None:
        """Appends a middleware. Reports about stopped events name it by `name`, or by the name of the
        function.
        """
    def publish(self, event: Any) -> Future[Published]:
        """Sends an event through the middleware and to all subscribers. Waits for the middleware, and
        for room in full queues whose policy is `wait`.
        """
    def subscribe(self, *classes: type[Any], capacity: int = 1024, policy: str = "wait") -> Subscription:
        """Subscribes to the events that are published from now on. `classes` selects events of these
        classes; empty selects all events. `policy` applies when `capacity` events are queued:
        `wait` makes the publisher wait, `drop_oldest` and `drop_newest` drop an event.
        """
    @property
    def subscribers(self) -> int:
        """The current number of subscribers of this bus."""

@final
class Subscription:
    """A subscriber's queue: an async iterator. Where events were dropped, it raises `RulecError` once.

    >>> import asyncio
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
    def close(self) -> Future[None]:
        """Ends the subscription, also for a task that waits for an event."""

@final
class DecisionMade:
    """A decision that was proposed: a payload and its kind.

    `kind` names a `payload` statement of the rules; a decision without a kind is rejected. `id`
    identifies the decision in later events.

    >>> DecisionMade("respond", {"response": "hello"}, confidence=0.9).payload
    {'response': 'hello'}
    """

    def __new__(cls, kind: str | None, payload: Any, *, id: str = "", confidence: float | None = None) -> DecisionMade: ...
    @property
    def id(self) -> str:
        """The id of the decision; empty if none was given."""
    @property
    def kind(self) -> str:
        """The payload kind; empty if none was given."""
    @property
    def payload(self) -> Any:
        """The proposed payload."""
    @property
    def confidence(self) -> float | None:
        """The confidence of the model; None if none was given."""
    @property
    def instead_of(self) -> list[str]:
        """The kinds of the earlier decisions that were rejected and that this decision replaces."""
    @property
    def failure(self) -> NodeExecutionFailed | None:
        """The failure of a node from which this decision recovers; None for other decisions."""
    def to_dict(self) -> dict[str, Any]:
        """Returns the event as a dict."""

@final
class DecisionValidated:
    """A decision that was accepted. `payload` has the corrections of the rules.

    >>> coordinator = Coordinator(Rules.from_text('payload refund rank 1 { currency: string default "EUR" }'))
    >>> coordinator.validate_decision(DecisionMade("refund", {})).payload
    {'currency': 'EUR'}
    """

    @property
    def decision(self) -> DecisionMade:
        """The decision as it was proposed."""
    @property
    def kind(self) -> str:
        """The payload kind of the decision."""
    @property
    def payload(self) -> Any:
        """The payload to execute: with the corrections of the rules, if there are any."""
    @property
    def judgement(self) -> Judgement:
        """The result of the check."""
    @property
    def is_valid(self) -> bool:
        """Always true. The class `DecisionRejected` has the same attribute, which is always false."""
    @property
    def errors(self) -> list[str]:
        """Always empty. The class `DecisionRejected` has the same attribute, which contains the
        messages of the violations.
        """
    def to_dict(self) -> dict[str, Any]:
        """Returns the event as a dict."""

@final
class DecisionRejected:
    """A decision that was rejected, with the reasons.

    >>> coordinator = Coordinator(Rules.from_text("payload refund rank 1 { amount: number in 0..=500 }"))
    >>> coordinator.validate_decision(DecisionMade("refund", {"amount": 900})).errors
    ['$.amount: `amount` must be a number from 0 to 500, and is 900']
    """

    @property
    def decision(self) -> DecisionMade:
        """The decision as it was proposed."""
    @property
    def kind(self) -> str:
        """The payload kind of the decision."""
    @property
    def payload(self) -> Any:
        """The payload as it was proposed."""
    @property
    def judgement(self) -> Judgement | None:
        """The result of the check. None if the recovery function failed, because there was then no
        payload to check.
        """
    @property
    def violations(self) -> list[Violation]:
        """The violated rules, sorted by the name of the rule and then by the path."""
    @property
    def feedback(self) -> str:
        """The reasons for the rejection as text that a language model can act on."""
    @property
    def fallback(self) -> str | None:
        """The kind of payload to propose instead of the rejected one; None if the rules name none."""
    @property
    def is_valid(self) -> bool:
        """Always false. The class `DecisionValidated` has the same attribute, which is always true."""
    @property
    def errors(self) -> list[str]:
        """The path and the message of each violation, as one text, in the order of `violations`. If
        there is no violation, because the payload was not checked, the only text is the feedback.
        """
    def to_dict(self) -> dict[str, Any]:
        """Returns the event as a dict."""

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
    def workflow_id(self) -> str:
        """The id of the workflow."""
    @property
    def node_id(self) -> str:
        """The id of the node that failed."""
    @property
    def reason(self) -> str:
        """The reason for the failure, as text."""
    @property
    def error_code(self) -> str | None:
        """A code of the failure, which the program chooses; None if there is none."""
    @property
    def execution_context(self) -> dict[str, Any]:
        """Data about the run before the failure, such as the outputs of earlier nodes."""
    def to_dict(self) -> dict[str, Any]:
        """Returns the event as a dict."""

@final
class Coordinator:
    """Checks decisions by the payload rules, publishes the results on a bus, and executes accepted
    decisions.

    `context` and `options` are the values that the rules read under these names. `handlers` execute
    decisions by kind, and `workers` the nodes of plans by type. `agent` proposes others for a
    rejected decision, at most `tries` times. `recovery` returns the payload of kind `recovery_kind`
    for a failed node. All of them may be async. `middleware` maps names to functions of the bus,
    each call of which may take at most `middleware_limit` seconds.

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
    def bus(self) -> Bus:
        """The bus on which the coordinator publishes its results."""
    def validate_decision(self, decision: DecisionMade) -> DecisionValidated | DecisionRejected:
        """Checks a decision without publishing it. Returns a `DecisionValidated` or a
        `DecisionRejected`.
        """
    def as_middleware(self) -> Middleware:
        """Returns a middleware for any `Bus`. The middleware replaces each `DecisionMade` by the
        result of checking the decision. It stops decisions whose kind the rules declare `internal`,
        and passes on other events unchanged.
        """
    def publish(
        self, event: DecisionMade | NodeExecutionFailed | DecisionValidated | DecisionRejected
    ) -> Future[list[Handled]]:
        """Publishes an event. A `DecisionMade` is checked first. The failure of a plan's node is
        passed to the recovery function, and a rejected decision is followed by its fallback.
        Returns a list of all events, each with a `Published`, which describes its delivery.
        """
    def session(self) -> AgentSession:
        """Starts a session, which executes the decisions of one conversation one after another."""
    def replace(self, rules: Rules, *, context: Mapping[str, Any] | None = None) -> None:
        """Replaces the rules, and the value of their input `context`. Without `context`, this value is
        the context with which the rules were loaded, if any.
        """
    def saved(self, workflow: str) -> dict[str, Any] | None:
        """Returns a workflow with the progress of its run, as a value that `restore` takes. None if
        the id is unknown.
        """
    def restore(self, saved: Mapping[str, Any]) -> str:
        """Restores a workflow from a result of `saved`. Returns its id."""
    def resume(self, workflow: str) -> Future[dict[str, Any]]:
        """Continues a workflow at the point where its last run stopped. Returns the report of the run."""

@final
class Middleware:
    """The check of a coordinator as a middleware for any bus.

    >>> coordinator = Coordinator(Rules.from_text("payload refund rank 1 { amount: number in 0..=500 }"))
    >>> coordinator.as_middleware()(DecisionMade("refund", {"amount": 20}))
    <DecisionValidated refund >
    """

    def __call__(self, event: Any) -> Any:
        """Call self as a function."""

@final
class Handled:
    """An event that a coordinator has processed, and how it was delivered.

    >>> import asyncio
    >>> async def main():
    ...     coordinator = Coordinator(Rules.from_text("payload refund rank 1 { amount: number in 0..=500 }"))
    ...     return await coordinator.publish(DecisionMade("refund", {"amount": 900}))
    >>> [handled] = asyncio.run(main())
    >>> handled.event.is_valid, handled.published.delivered
    (False, 0)
    """

    @property
    def event(self) -> Any:
        """The event as published; None if a middleware stopped it."""
    @property
    def published(self) -> Published | None:
        """How the event was delivered; None for a decision whose kind the rules declare `internal`,
        which is never published.
        """

@final
class RetryRequest:
    """The argument of the agent function of a coordinator: a rejected decision.

    >>> import asyncio
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
    def rejected(self) -> DecisionRejected:
        """The rejected decision, with the reasons."""
    @property
    def attempt(self) -> int:
        """How often the agent has been called to replace this decision, including this call."""

@final
class AgentSession:
    """One conversation with an agent: its decisions are executed one after another.

    >>> import asyncio
    >>> async def main():
    ...     rules = Rules.from_text("payload ask rank 1 suspends { question: string }")
    ...     session = Coordinator(rules).session()
    ...     await session.offer(DecisionMade("ask", {"question": "which?"}))
    ...     return await session.answer("the first")
    >>> asyncio.run(main()).done[0].result
    {'answer': 'the first'}
    """

    def offer(self, decisions: DecisionMade | Iterable[DecisionMade]) -> Future[Turn]:
        """Validates decisions and executes those that can run. The decision of the lowest rank (a
        number that the rules declare for each payload kind) runs first. Decisions of equal rank run
        in order of arrival.
        """
    def answer(self, answer: Any) -> Future[Turn]:
        """Completes the decision that asked the user a question: `answer` becomes its result. Then
        executes the decisions that waited until the user answered.
        """
    def send(self, decision: DecisionMade) -> bool:
        """Sends a decision while other decisions are being executed. If the kind of the new decision
        interrupts other decisions, the running execution is cancelled. Returns false if the session
        no longer exists.
        """

@final
class Turn:
    """The results of one call of `offer` or `answer`.

    >>> import asyncio
    >>> async def main():
    ...     rules = Rules.from_text("payload ask rank 1 suspends { question: string }")
    ...     return await Coordinator(rules).session().offer(DecisionMade("ask", {"question": "which?"}))
    >>> asyncio.run(main()).question.payload
    {'question': 'which?'}
    """

    @property
    def done(self) -> list[Done]:
        """The decisions that were executed, in order."""
    @property
    def rejected(self) -> list[DecisionRejected]:
        """The rejected decisions, including those that the agent replaced."""
    @property
    def interrupted(self) -> list[DecisionMade]:
        """The decisions that another decision interrupted."""
    @property
    def question(self) -> DecisionValidated | None:
        """The decision that waits for the user's answer; None if no decision does."""
    @property
    def waiting(self) -> int:
        """The number of accepted decisions that wait until the question is answered."""

@final
class Done:
    """A decision that was executed, and its result. `report` is set if it ran a plan.

    >>> import asyncio
    >>> async def main():
    ...     rules = Rules.from_text("payload refund rank 1 { amount: number in 0..=500 }")
    ...     coordinator = Coordinator(rules, handlers={"refund": lambda decision: decision.payload["amount"]})
    ...     return await coordinator.session().offer(DecisionMade("refund", {"amount": 20}))
    >>> asyncio.run(main()).done[0].result
    20
    """

    @property
    def decision(self) -> DecisionValidated:
        """The decision that was executed."""
    @property
    def result(self) -> Any:
        """The result of the execution. None if the execution failed, or if there was nothing to
        execute.
        """
    @property
    def error(self) -> str | None:
        """The reason why the execution failed; None if it did not."""
    @property
    def report(self) -> dict[str, Any] | None:
        """The report of the workflow's run as a dict; None if the decision ran no workflow."""

@final
class NodeCall:
    """The argument of a worker of a plan or workflow: the node, its config and its input.

    >>> import asyncio
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
    def node(self) -> str:
        """The id of the node."""
    @property
    def kind(self) -> str:
        """The type of the node."""
    @property
    def config(self) -> Any:
        """The `config` of the node."""
    @property
    def input(self) -> Any:
        """The input of the node, merged from the outputs of earlier nodes."""

@final
class Workflow:
    """A graph of nodes that runs. A `router` of the rules may choose where an output goes.

    `nodes` are dicts with `id`, `type`, `next`, `config`, `parallel` and `time_limit_ms`. `routers`
    maps ids of nodes to names of `router` statements of `rules`. `workers` do the work of nodes by
    type: a function of a `NodeCall`, or `"loop"`, `"vote"` or `"echo"`. `factories` make a worker
    for each node, and `processors` are the workers of single nodes. `merge` and `merges` (by node)
    make one input of several: `"first"`, `"latest"`, `"append"`, `"by_node"`, or a function of the
    node and its inputs.

    >>> import asyncio
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
    ) -> Workflow:
        """Builds the workflow that the `workflow` statement `name` of the rules describes. `parts` are
        the keyword arguments that `Workflow(...)` has too.
        """
    @property
    def findings(self) -> list[str]:
        """Likely mistakes in the graph, as texts."""
    def run(self, input: Any) -> Future[dict[str, Any]]:
        """Runs the workflow on an input, and returns the report."""
    def begin(self, input: Any) -> WorkflowRun:
        """Starts a run that the program advances node by node."""
    def resume(self, saved: Mapping[str, Any]) -> WorkflowRun:
        """Resumes a saved run."""

@final
class WorkflowRun:
    """One run of a workflow, which proceeds node by node and may be saved in between.

    >>> import asyncio
    >>> async def main():
    ...     workflow = Workflow("a", [{"id": "a", "type": "add", "next": ["b"]}, {"id": "b", "type": "add"}],
    ...                         workers={"add": lambda call: call.input + 1})
    ...     run = workflow.begin(1)
    ...     await run.step()
    ...     return await workflow.resume(run.save()).to_end()
    >>> asyncio.run(main())["outputs"]
    {'b': 3}
    """

    def step(self) -> Future[bool]:
        """Runs the next node, or the children of a parallel node. False if no node was left to run."""
    def to_end(self) -> Future[dict[str, Any]]:
        """Runs all remaining nodes and returns the report."""
    @property
    def report(self) -> dict[str, Any]:
        """The report of the run up to its current state."""
    @property
    def next_node(self) -> str | None:
        """The node that runs next; None if no node is left to run."""
    def retry_failed(self) -> int:
        """Schedules the failed nodes to run again, and returns their number."""
    def save(self) -> dict[str, Any]:
        """Returns the state of the run, for `Workflow.resume`. The state contains inputs and outputs
        of nodes.
        """

@final
class NodeFactory:
    """A worker of the library for nodes of plans or workflows.

    >>> workers = {"HTTP": HttpClient(allow=["api.example.com"]).node()}
    """

@final
class HttpClient:
    """A client that calls only the hosts in `allow`, each `host` or `host:port`.

    `attempt` and `overall` are the time limits of one attempt and of a call, in seconds. `retries`
    is the number of retries after failures that a retry may fix. `pauses` are the pause before the
    first retry, and the longest one: each pause is twice the previous one. `body` is the maximum
    size of a response in bytes.

    >>> import asyncio
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
        pauses: tuple[float, float] | None = None,
        body: int | None = None,
    ) -> HttpClient: ...
    def get(
        self, url: str, *, headers: Mapping[str, str] | None = None, key: str | None = None, as_text: bool = False
    ) -> Future[Response]:
        """Makes a GET request. `key` is sent as a bearer token and never shown. With `as_text`, the
        body of the response is text even if it is JSON.
        """
    def post(
        self,
        url: str,
        body: Any,
        *,
        headers: Mapping[str, str] | None = None,
        key: str | None = None,
        as_text: bool = False,
        repeatable: bool = False,
    ) -> Future[Response]:
        """Makes a POST request with a JSON body. With `repeatable`, it may be sent again although the
        server may have processed it. `get` describes the other parameters.
        """
    def put(
        self, url: str, body: Any, *, headers: Mapping[str, str] | None = None, key: str | None = None, as_text: bool = False
    ) -> Future[Response]:
        """Makes a PUT request with a JSON body. The parameters are as in `get`."""
    def patch(
        self,
        url: str,
        body: Any,
        *,
        headers: Mapping[str, str] | None = None,
        key: str | None = None,
        as_text: bool = False,
        repeatable: bool = False,
    ) -> Future[Response]:
        """Makes a PATCH request with a JSON body. The parameters are as in `post`."""
    def delete(
        self, url: str, *, headers: Mapping[str, str] | None = None, key: str | None = None, as_text: bool = False
    ) -> Future[Response]:
        """Makes a DELETE request. The parameters are as in `get`."""
    def node(self) -> NodeFactory:
        """Returns the worker that runs `HTTP` nodes in plans (workflows that a language model
        proposes). The config of such a node has `url`, `method`, `headers` and a body.
        """
    def endpoint_node(self) -> NodeFactory:
        """Returns the worker that runs workflow nodes whose config describes an HTTP endpoint to call."""
    def council_node(self) -> NodeFactory:
        """Returns the worker that runs workflow nodes which call several endpoints at the same time."""

@final
class Response:
    """A successful response; `body` is a value if it is JSON, otherwise text.

    >>> async def main(client):
    ...     return (await client.get("https://api.example.com/v1/orders")).body["orders"]
    """

    @property
    def status(self) -> int:
        """The HTTP status code, from 200 to 299."""
    @property
    def body(self) -> Any:
        """The body of the response: a Python value if the body is JSON, otherwise text."""
    @property
    def attempts(self) -> int:
        """The number of attempts until the response arrived, at least 1."""
    @property
    def elapsed(self) -> float:
        """The duration of the call in seconds, with all attempts."""

@final
class HttpHandler:
    """A handler that calls an endpoint; see `http_handler`.

    >>> client = HttpClient(allow=["api.example.com"])
    >>> handlers = {"orders": http_handler(client, {"url": "https://api.example.com/orders/{id}", "method": "GET"})}
    """

    def __call__(self, request: Request) -> Future[Any]:
        """Call self as a function."""

def http_handler(client: HttpClient, endpoint: Mapping[str, Any]) -> HttpHandler:
    """Returns a handler for a `Router`. The handler sends the request that `endpoint` describes, and
    replies with the body of the response. In `endpoint`, `{name}` is replaced by an argument of the
    route, and `#name#` by a field of the message's `ctx`.
    """

@final
class ChatModel:
    """A language model at an OpenAI-compatible endpoint for chat completions.

    `base` is a URL such as `https://api.example.com/v1`. By default, the key is the value of the
    environment variable `RULEC_MODEL_KEY`, and only the host of `base` is called.

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
    def node(self) -> NodeFactory:
        """Returns the worker that runs `LLM` nodes in plans (workflows that a language model
        proposes).
        """

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
    def name(self) -> str:
        """The name of the choice; `flows` if the model chooses a flow."""
    @property
    def system(self) -> str:
        """The system message, which describes the task to the model."""
    @property
    def known(self) -> str | None:
        """The fields of the message other than its text, as JSON text for the model. None if there are
        none, or if the model chooses a flow.
        """
    @property
    def text(self) -> str:
        """The user's message."""
    @property
    def ids(self) -> list[str]:
        """The ids from which the model chooses."""
    @property
    def tool(self) -> dict[str, Any]:
        """The definition of the tool that the model calls."""
    @property
    def messages(self) -> list[dict[str, str]]:
        """The messages to send to a chat API, as dicts with `role` and `content`."""
    def picked(self, answer: Any) -> tuple[str, str | None] | None:
        """Reads the answer of a model: an id, or the arguments of its tool call as a dict or JSON
        text. Returns the chosen id and the reason, if the answer has one. None if the answer
        contains no id. Fails for an id that the model was not offered.
        """

@final
class FlowRunner:
    """Finds flows by keyword, by the built-in classifier or by a model, and executes them. `FlowChat`
    of `rulec.flows` also takes a function as the model.

    `rules` declare the endpoint that executes a flow: `flow tool … { endpoint: … }`. If they are
    live rules, a watched file or a router, their active version is used. `client` calls the
    endpoint. `model` selects a flow if nothing else finds one.

    >>> import asyncio
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
    ) -> Future[FlowOutcome]:
        """Finds the flow for a text and executes it. `history` are the earlier messages of the
        conversation, as pairs of the role (`user` or `assistant`) and the text. Placeholders in the
        endpoint are filled from `arguments` and from `context`, the context of the conversation.
        """
    def execute(
        self, flow: str, context: Mapping[str, Any] | None = None, *, arguments: Mapping[str, Any] | None = None
    ) -> Future[FlowOutcome]:
        """Executes an intent flow (a flow found by meaning) that a model has chosen. `flow` is its id.
        Placeholders in the endpoint are filled from `arguments` and `context`.
        """
    def question(self, text: str) -> ModelRequest | None:
        """Returns the prompt and the tool with which a model chooses an intent flow for a text. None
        if a pattern or the classifier finds a flow, or if there are no intent flows.
        """

@final
class FlowOutcome:
    """The result of handling a message that may start a flow.

    >>> import asyncio
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
    def kind(self) -> str:
        """The kind of the result: `executed`, `failed`, `refused`, `model_failed` or `no_flow`."""
    @property
    def flow(self) -> str | None:
        """The id of the flow; None if no flow was found."""
    @property
    def name(self) -> str | None:
        """The name of the flow; None if no flow was found."""
    @property
    def found_by(self) -> str | None:
        """The method that found the flow: `keyword`, `classifier` or `model`."""
    @property
    def pattern(self) -> str | None:
        """The pattern that matched; None if no pattern found the flow."""
    @property
    def nearest(self) -> list[FlowHit]:
        """The flows that are most similar to the text, if no flow was found."""
    @property
    def response(self) -> Response | None:
        """The response of the endpoint; None if the flow was not executed."""
    @property
    def reply(self) -> str | None:
        """The text that the model replied when it chose no flow. None if the model was not asked, or
        chose a flow.
        """
    @property
    def error(self) -> str | None:
        """The reason why no flow was executed. None if a flow was executed, or if no flow fits the
        text.
        """
    @property
    def elapsed(self) -> float:
        """The duration of finding and executing the flow, in seconds."""

def ask_choice(
    rules: Rules, name: str, model: ChatModel, message: _Message
) -> Future[tuple[str, bool, str | None, str | None, list[str]]]:
    """Asks a model at an endpoint to make a choice. After any failure, takes the default branch."""

@final
class Session:
    """Rules with their own working memory: the fastest way to decide in one thread.

    It holds the interpreter lock while it decides. Decide long texts with `Rules.decide`, which
    releases the lock. With a store of earlier messages, its methods decide by what happened before.

    >>> session = Rules.from_text("route big when n > 9 -> many default -> few").session()
    >>> session.decide({"n": 12}).target, session.decide_json('{"n": 3}').target
    ('many', 'few')
    """

    def decide(self, message: _Message | Prepared) -> Decision:
        """Decides a message. Holds the interpreter lock during the decision."""
    def decide_json(self, text: str | bytes) -> Decision:
        """Decides a message given as JSON text. Holds the interpreter lock during the decision."""
    def decide_and_record(self, message: _Message | Prepared) -> Decision:
        """Decides a message, and records the message with the decision. The rules read the recorded
        messages with the same history key (such as a user id). No other message with this key is
        recorded between the decision and the recording.
        """
    def decide_with_history(self, message: _Message | Prepared) -> Decision:
        """Decides a message without recording it. The rules read the recorded messages with the same
        history key (such as a user id).
        """
    def matched(self, message: _Message | Prepared) -> list[str]:
        """Returns the names of all matching routes, in evaluation order. The rules read the recorded
        messages, as in `decide_with_history`.
        """
    def explain(self, message: _Message | Prepared, *, show_private: bool = False) -> Explanation:
        """Explains the decision about a message. The rules read the recorded messages, as in
        `decide_with_history`.
        """
    def why_not(
        self, message: _Message | Prepared, route: str, *, show_private: bool = False
    ) -> dict[str, Any]:
        """Finds the smallest change of `message` after which the session would choose `route`. The
        rules read the recorded messages, as in `decide_with_history`.
        """
    def record(self, message: _Message | Prepared, decision: Decision) -> None:
        """Records a message with the decision about it, for example after the handler succeeded."""
    def observe(self, message: _Message | Prepared) -> None:
        """Records a message without deciding it, such as the result of a tool."""

@final
class MemoryStore:
    """Earlier messages in memory, for `Rules.session`. Sessions and threads may share a store.

    If there are more than `max_keys` history keys (such as user ids), the messages of the least
    recently used key are removed.

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
    def key_count(self) -> int:
        """The number of history keys (such as user ids) that have messages."""

@final
class DurableStore:
    """Earlier messages in a folder, which survive the process. One store at a time can use a folder.

    The folder is created if it does not exist. A call that records a message returns when the
    message is on disk. `compact(before)` removes older messages, also of keys that are never used
    again.

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
    def compact(self, before: datetime | str | None = None) -> int:
        """Removes the messages that are older than `before` (a datetime, or a time as RFC 3339 text)
        if it is given. Then returns unused space to the file system. Returns the number of removed
        messages. A function that rules call cannot call this method: it would wait for its own end.
        """

@final
class SharedStore:
    """Earlier messages at a Redis server, for several programs. Threads and sessions can share a
    store.

    `address` is `redis://[USER][:PASSWORD@]HOST[:PORT][/DATABASE][#NAME]`; `name` and `password`
    apply if the address has none.

    >>> try:
    ...     SharedStore("rediss://localhost/0", name="guard")
    ... except RulecError as error:
    ...     "TLS, which is not supported" in str(error)
    True
    """

    def __new__(cls, address: str, *, name: str | None = None, password: str | None = None) -> SharedStore: ...
    def compact(self, before: datetime | str | None = None) -> int:
        """Removes the messages that are older than `before` (a datetime, or a time as RFC 3339 text)
        if it is given. Returns the number of removed messages.
        """

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
    ) -> Classifier:
        """Trains a classifier. `intents` maps ids to example sentences. The classifier abstains if the
        best score is below `threshold`, or exceeds the second best by less than `margin`.
        """
    def classify(self, text: str) -> str | None:
        """Returns the id of the intent that a text expresses; None if the classifier abstains."""
    def ranked(self, text: str) -> list[tuple[str, float]]:
        """Returns the intents with the highest scores for a text, at most five, best first."""
    @property
    def ids(self) -> list[str]:
        """The ids of the intents."""
