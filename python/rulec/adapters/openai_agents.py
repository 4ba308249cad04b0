"""Guardrails and approvals of the OpenAI Agents SDK, decided by rules.

    agent = Agent("desk", tools=guarded(guard, [refund, answer]), input_guardrails=[input_guardrail(rules, "inputs")])

A rejected call is not executed; the model receives the feedback. The SDK lets no guardrail change
arguments. So a call that the rules correct is rejected too, with the arguments to send instead. A
call that a person must approve interrupts the run, as with ``needs_approval=True``. The SDK also
asks for a call whose arguments its own validation changes, such as 20 for a ``float``.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

from agents import FunctionTool, GuardrailFunctionOutput, InputGuardrail, ToolGuardrailFunctionOutput, ToolInputGuardrail
from agents import ToolInputGuardrailData as Data

from .._rulec import Rules
from ..guard import Guard


def guarded(guard: Guard, tools: Sequence[FunctionTool]) -> list[FunctionTool]:
    """Returns copies of the tools whose calls the guard checks, and lets a person approve.

    >>> from agents import function_tool
    >>> @function_tool
    ... def refund(amount: int) -> str:
    ...     return "paid"
    >>> [tool] = guarded(Guard(Rules.from_text("payload refund rank 1 { amount: number in 0..=500 }")), [refund])
    >>> tool.name, len(tool.tool_input_guardrails)
    ('refund', 1)
    """

    def check(data: Data) -> ToolGuardrailFunctionOutput:
        verdict = guard.check(data.context.tool_arguments or "{}", tool=data.context.tool_name)
        if verdict.arguments is None:
            return ToolGuardrailFunctionOutput.reject_content(verdict.feedback, verdict)
        if verdict.arguments != json.loads(data.context.tool_arguments or "{}"):
            again = f"{verdict.feedback}Call `{verdict.tool}` again with these arguments: {json.dumps(verdict.arguments)}\n"
            return ToolGuardrailFunctionOutput.reject_content(again, verdict)
        return ToolGuardrailFunctionOutput.allow(verdict)

    def one(tool: FunctionTool) -> FunctionTool:
        async def needs_approval(context: Any, arguments: dict[str, Any], call_id: str) -> bool:
            verdict = guard.check(arguments, tool=tool.name)
            return verdict.ok and verdict.approval == "ask"

        checks: list[ToolInputGuardrail[Any]] = [*(tool.tool_input_guardrails or []), ToolInputGuardrail(check, name="rulec")]
        return dataclasses.replace(tool, tool_input_guardrails=checks, needs_approval=needs_approval)

    return [one(tool) for tool in tools]


def input_guardrail(rules: Rules, entry: str) -> InputGuardrail[Any]:
    """Returns a guardrail that stops the run unless the entry answers ``allow`` to the user's text.

    >>> rules = Rules.from_text('table inputs { route rude when text contains "idiot" -> deny  default -> allow }')
    >>> input_guardrail(rules, "inputs").guardrail_function(None, None, "you idiot").tripwire_triggered
    True
    """

    def check(context: Any, agent: Any, given: str | list[Any]) -> GuardrailFunctionOutput:
        items: list[Any] = [] if isinstance(given, str) else given
        said = next((item["content"] for item in reversed(items) if item.get("role") == "user"), given)
        text = said if isinstance(said, str) else " ".join(part.get("text", "") for part in said)
        decision = rules.decide({"text": text}, entry=entry)
        return GuardrailFunctionOutput(decision, tripwire_triggered=(decision.target or decision.branch) != "allow")

    return InputGuardrail(check, name=entry, run_in_parallel=False)
