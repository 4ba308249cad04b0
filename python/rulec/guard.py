"""Check tool calls of language models by payload rules before the calls are executed.

If a call violates the rules, the model receives a text that it can act on. Violations that the
rules can correct are corrected.

>>> from rulec import Rules
>>> from rulec.guard import Guard
>>> guard = Guard(Rules.from_text('''
...     payload refund rank 1 {
...       order: string not blank
...       amount: number in 0..=500
...       currency: string default "EUR"
...     }
... '''))
>>> verdict = guard.check({"name": "refund", "arguments": '{"order": "A-7", "amount": 20}'})
>>> verdict.ok, verdict.arguments
(True, {'amount': 20, 'currency': 'EUR', 'order': 'A-7'})
>>> verdict = guard.check({"name": "refund", "arguments": {"order": "A-7", "amount": 9000}})
>>> verdict.ok
False
>>> print(verdict.feedback.splitlines()[0])
The refund payload was rejected: 1 problem.

With ``approval``, a table or a choice of the rules also decides who approves a call. It reads
``tool`` and ``args``, and answers ``allow``, ``ask`` (a person) or ``deny``.

>>> guard = Guard(Rules.from_text('''
...     input { tool: string  args?: { amount?: number } }
...     table approval {
...       route large when tool == "refund" and args.amount > 100 -> ask(reason: "more than 100")
...       default -> allow
...     }
... '''), approval="approval", closed=False)
>>> verdict = guard.check({"name": "refund", "arguments": {"amount": 120}})
>>> verdict.ok, verdict.approval, verdict.reason
(True, 'ask', 'more than 100')
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, cast

from ._history import warn_without_history
from ._rulec import Judge, Judgement, LiveRules, MessageError, Router, RulecError, Rules, RulesInForce, WatchedRules

Approval = Literal["allow", "ask", "deny"]


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The result of checking a tool call.

    >>> guard = Guard(Rules.from_text("payload refund rank 1 { amount: number in 0..=500 }"))
    >>> verdict = guard.check({"id": "call_1", "name": "refund", "arguments": {"amount": 900}})
    >>> verdict.ok, verdict.tool, verdict.call_id
    (False, 'refund', 'call_1')
    >>> verdict.message()["role"]
    'tool'
    """

    ok: bool
    """Whether the call may be executed, with ``arguments``; after a person agrees, if ``approval`` is ``ask``."""
    tool: str
    """Name of the called tool."""
    arguments: dict[str, Any] | None
    """Arguments to use: as given or as corrected by the rules; ``None`` if the call is rejected."""
    feedback: str
    """Text for the model; empty if there are no violations."""
    call_id: str | None = None
    """Id of the call, from the model."""
    fallback: str | None = None
    """Tool to use instead, if the rules name one."""
    judgement: Judgement | None = None
    """The full result; ``None`` if the tool is unknown or the arguments are not valid JSON."""
    attempts: int = 1
    """Number of calls that were checked, this one included."""
    approval: Approval = "allow"
    """Who approves the call: the rules (``allow``) or a person (``ask``); ``deny`` refuses it."""
    reason: str = ""
    """Argument ``reason`` of the rule that asks or denies; empty if there is none."""

    def message(self) -> dict[str, Any]:
        """Returns the answer to the model as a message of the chat API."""
        content = self.feedback or "accepted"
        return {"role": "tool", "tool_call_id": self.call_id, "name": self.tool, "content": content}


class Guard:
    """Checks tool calls; each tool name is a payload kind of the rules.

    ``rules`` may be live rules, watched rules or a router. The guard then always uses the rules in
    force. A kind that they lose is an unknown tool.

    ``inputs`` are the values of the rules' ``input``, which the payload rules can read. ``tools``
    maps tool names to payload kinds where the two differ. With ``strict``, warnings count as
    violations. With ``closed=False``, a tool without a payload kind is not a violation, unless
    ``tools`` names it.

    ``approval`` names an entry of the rules that approves accepted calls. It decides a message with
    ``tool``, ``args`` and the ``inputs``. If it chooses nothing, the verdict is ``ask``.

    >>> guard = Guard(Rules.from_text("payload refund rank 1 { amount: number in 0..=500 }"))
    >>> guard.check({"name": "refund", "arguments": {"amount": 20}}).ok
    True
    >>> print(guard.check({"name": "refnd", "arguments": {}}).feedback)
    There is no tool `refnd`. Call one of these: `refund`.
    <BLANKLINE>
    """

    def __init__(
        self,
        rules: Rules | LiveRules | WatchedRules | Router,
        *,
        inputs: dict[str, Any] | None = None,
        options: dict[str, Any] | None = None,
        tools: Mapping[str, str] | None = None,
        strict: bool = False,
        closed: bool = True,
        approval: str | None = None,
    ) -> None:
        self._in_force = RulesInForce(rules)
        self._inputs, self._options, self._strict = dict(inputs or {}), options, strict
        self._renamed, self._closed, self._approval = dict(tools or {}), closed, approval
        current = self._in_force.current()
        if approval is not None and approval not in current.entries:
            current.decide({}, entry=approval)  # Raises UnknownName.
        if closed and not current.kinds:
            raise RulecError("the rules have no `payload`, so each call would be rejected; add one, or give `closed=False`")
        for kind in self._renamed.values():
            current.judge(kind)  # Raises UnknownName.
        self._last = (current, self._judges_of(current))
        if approval is not None:
            warn_without_history(current, "the approval of a guard")

    def _judges_of(self, rules: Rules) -> dict[str, Judge]:
        """Returns the judge of each tool by these rules."""
        kinds = {kind: kind for kind in rules.kinds} | self._renamed
        return {
            tool: rules.judge(kind, inputs=self._inputs, options=self._options, strict=self._strict)
            for tool, kind in kinds.items()
            if kind in rules.kinds
        }

    def _current(self) -> tuple[Rules, dict[str, Judge]]:
        """Returns the rules in force, and the judge of each tool."""
        current = self._in_force.current()
        if current is not self._last[0]:
            self._last = (current, self._judges_of(current))
        return self._last

    def __repr__(self) -> str:
        return f"<Guard of {', '.join(self.tools) or 'no tools'}>"

    @property
    def tools(self) -> list[str]:
        """Names of the known tools."""
        return list(self._current()[1])

    def check(self, call: Any, *, tool: str | None = None) -> Verdict:
        """Checks a tool call in the form of a model's API.

        With ``tool``, ``call`` is only the arguments: a dict, a dataclass, a pydantic model or JSON
        text.
        """
        if tool is None:
            name, arguments, call_id = _parts(call)
        else:
            name, arguments, call_id = tool, call, None
        rules, judges = self._current()
        verdict = self._judged(judges, name, arguments, call_id)
        return self._approved(rules, verdict) if verdict.ok and self._approval is not None else verdict

    def check_all(self, calls: Any) -> list[Verdict]:
        """Checks each call in a list, or in the answer of a model.

        An answer is an object or a dict with ``tool_calls`` (OpenAI, LangChain), or with ``content``
        that has parts of type ``tool_use`` (Anthropic).
        """
        return [self.check(call) for call in _calls(calls)]

    def _judged(self, judges: Mapping[str, Judge], name: str, arguments: Any, call_id: str | None) -> Verdict:
        """Checks the arguments of a call as a payload."""
        judge = judges.get(name)
        if judge is None and not self._closed and name not in self._renamed:
            try:
                return Verdict(True, name, _plain(arguments), "", call_id)
            except (TypeError, ValueError) as error:
                return _unreadable(name, error, call_id)
        if judge is None:
            known = ", ".join(f"`{known}`" for known in judges)
            instead = f"Call one of these: {known}." if known else "There are no other tools."
            feedback = f"There is no tool `{name}`. {instead}\n"
            return Verdict(False, name, None, feedback, call_id)
        try:
            judgement = judge.judge(arguments)
        except MessageError as error:
            return _unreadable(name, error, call_id)
        if not judgement.is_accepted:
            return Verdict(False, name, None, judgement.feedback(), call_id, judgement.fallback, judgement)
        acted_on = judgement.corrected if judgement.corrected is not None else _plain(arguments)
        return Verdict(True, name, acted_on, judgement.feedback(), call_id, None, judgement)

    def _approved(self, rules: Rules, verdict: Verdict) -> Verdict:
        """Decides who approves an accepted call."""
        message = {**self._inputs, "tool": verdict.tool, "args": verdict.arguments}
        decision = rules.decide(message, entry=self._approval)
        answer = decision.target or decision.branch or "ask"
        reason = str(decision.args.get("reason", ""))
        if answer == "deny":
            because = f": {reason}" if reason else ""
            feedback = f"The call of `{verdict.tool}` is denied{because}.\nDo not repeat it.\n"
            return dataclasses.replace(verdict, ok=False, arguments=None, feedback=feedback, approval="deny", reason=reason)
        if answer not in ("allow", "ask"):
            raise RulecError(f"`{self._approval}` answers `{answer}`; an approval answers `allow`, `ask` or `deny`")
        return dataclasses.replace(verdict, approval=cast(Approval, answer), reason=reason)

    def repair(self, call: Any, ask: Callable[[Verdict], Any], *, tries: int = 3, tool: str | None = None) -> Verdict:
        """Checks a call, and lets the model repair it at most ``tries`` times.

        ``ask`` receives the verdict, and returns the next call, or ``None`` to give up.
        """
        verdict = self.check(call, tool=tool)
        for attempt in range(2, tries + 2):
            if verdict.ok:
                break
            again = ask(verdict)
            if again is None:
                break
            verdict = dataclasses.replace(self.check(again, tool=tool), attempts=attempt)
        return verdict

    async def repair_async(
        self, call: Any, ask: Callable[[Verdict], Awaitable[Any]], *, tries: int = 3, tool: str | None = None
    ) -> Verdict:
        """Like ``repair``, with an ``ask`` that is awaited."""
        verdict = self.check(call, tool=tool)
        for attempt in range(2, tries + 2):
            if verdict.ok:
                break
            again = await ask(verdict)
            if again is None:
                break
            verdict = dataclasses.replace(self.check(again, tool=tool), attempts=attempt)
        return verdict


def _field(call: Any, *names: str) -> Any:
    """Returns the first of these fields that a call, a dict or an object, has."""
    fields = cast("Mapping[str, Any]", call) if isinstance(call, Mapping) else None
    for name in names:
        value: Any = getattr(cast(Any, call), name, None) if fields is None else fields.get(name)
        if value is not None:
            return value
    return None


def _is_list(value: Any) -> bool:
    """Returns whether a value is a list or another sequence, but no text."""
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _calls(answer: Any) -> list[Any]:
    """Returns the tool calls of a model's answer, or the items of a list of calls."""
    if _is_list(answer):
        return list(answer)
    calls = _field(answer, "tool_calls")
    if calls is not None:
        return list(calls)
    content = _field(answer, "content")
    parts: list[Any] = list(content) if _is_list(content) else []
    return [part for part in parts if _field(part, "type") == "tool_use"]


def _parts(call: Any) -> tuple[str, Any, str | None]:
    """Returns the name, arguments and id of a tool call.

    It accepts the forms of OpenAI (``function`` with ``name`` and ``arguments``), Anthropic
    (``name`` and ``input``) and LangChain (``name`` and ``args``).
    """
    inner = _field(call, "function") or call
    name = _field(inner, "name")
    if not isinstance(name, str):
        raise MessageError("a tool call has a `name`; for arguments alone say which tool they are of: `tool=…`")
    arguments = _field(inner, "arguments", "args", "input")
    call_id = _field(call, "id", "tool_call_id", "call_id")
    return name, {} if arguments is None else arguments, call_id


def _unreadable(name: str, error: Exception, call_id: str | None) -> Verdict:
    """Rejects a call whose arguments are no JSON object."""
    feedback = f"The arguments of `{name}` are not a JSON object: {error}.\nSend the whole call again.\n"
    return Verdict(False, name, None, feedback, call_id)


def _plain(arguments: Any) -> dict[str, Any]:
    """Returns accepted arguments as a dict."""
    if isinstance(arguments, str):
        return dict(json.loads(arguments))
    if hasattr(arguments, "model_dump"):
        return dict(arguments.model_dump(mode="json"))
    if isinstance(arguments, Mapping):
        return dict(cast("Mapping[str, Any]", arguments))
    return dataclasses.asdict(arguments)
