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
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from ._rulec import Judgement, MessageError, Rules


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The result of checking a tool call."""

    ok: bool
    """Whether the call may be executed, with ``arguments``."""
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

    def message(self) -> dict[str, Any]:
        """Returns the answer to the model as a message of the chat API."""
        content = self.feedback or "accepted"
        return {"role": "tool", "tool_call_id": self.call_id, "name": self.tool, "content": content}


class Guard:
    """Checks tool calls; each tool name is a payload kind of the rules.

    ``inputs`` are the values of the rules' ``input``, which the payload rules can read. ``tools``
    maps tool names to payload kinds where the two differ. With ``strict``, warnings count as
    violations.
    """

    def __init__(
        self,
        rules: Rules,
        *,
        inputs: dict[str, Any] | None = None,
        options: dict[str, Any] | None = None,
        tools: Mapping[str, str] | None = None,
        strict: bool = False,
    ) -> None:
        kinds = {kind: kind for kind in rules.kinds} | dict(tools or {})
        judges = {kind: rules.judge(kind, inputs=inputs, options=options, strict=strict) for kind in set(kinds.values())}
        self._judges = {tool: judges[kind] for tool, kind in kinds.items()}

    @property
    def tools(self) -> list[str]:
        """Names of the known tools."""
        return list(self._judges)

    def check(self, call: Any, *, tool: str | None = None) -> Verdict:
        """Checks a tool call in the form of a model's API.

        With ``tool``, ``call`` is only the arguments: a dict, a dataclass, a pydantic model or JSON
        text.
        """
        if tool is None:
            name, arguments, call_id = _parts(call)
        else:
            name, arguments, call_id = tool, call, None
        judge = self._judges.get(name)
        if judge is None:
            known = ", ".join(f"`{known}`" for known in self.tools)
            feedback = f"There is no tool `{name}`. Call one of these: {known}.\n"
            return Verdict(False, name, None, feedback, call_id)
        try:
            judgement = judge.judge(arguments)
        except MessageError as error:
            feedback = f"The arguments of `{name}` are not a JSON object: {error}.\nSend the whole call again.\n"
            return Verdict(False, name, None, feedback, call_id)
        if not judgement.is_accepted:
            return Verdict(False, name, None, judgement.feedback(), call_id, judgement.fallback, judgement)
        acted_on = judgement.corrected if judgement.corrected is not None else _plain(arguments)
        return Verdict(True, name, acted_on, judgement.feedback(), call_id, None, judgement)

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


def _plain(arguments: Any) -> dict[str, Any]:
    """Returns accepted arguments as a dict."""
    if isinstance(arguments, str):
        return dict(json.loads(arguments))
    if hasattr(arguments, "model_dump"):
        return dict(arguments.model_dump(mode="json"))
    if isinstance(arguments, Mapping):
        return dict(cast("Mapping[str, Any]", arguments))
    return dataclasses.asdict(arguments)
