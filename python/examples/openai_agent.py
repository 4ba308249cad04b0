"""An agent of the OpenAI Agents SDK whose inputs and tools are checked by rules. The model is scripted.

Run it: ``python examples/openai_agent.py`` (asks for ``pip install openai-agents``)
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from agents import Agent, InputGuardrailTripwireTriggered, Model, ModelResponse, RunConfig, Runner, Usage, function_tool
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from rulec import Rules
from rulec.adapters.openai_agents import guarded, input_guardrail
from rulec.guard import Guard

RULES = Path(__file__).parent / "approval.rules"


def call(number: int, name: str, **arguments: Any) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(arguments=json.dumps(arguments), call_id=f"call_{number}", name=name, type="function_call")


def text(words: str) -> ResponseOutputMessage:
    content = [ResponseOutputText(annotations=[], text=words, type="output_text")]
    return ResponseOutputMessage(id="m", content=list(content), role="assistant", status="completed", type="message")


class Scripted(Model):
    """A model that gives scripted answers."""

    def __init__(self) -> None:
        calls = [
            call(1, "refund", order="A-7", amount=900, currency="EUR"),
            call(2, "refund", order="A-7", amount=20, currency="EUR"),
            call(3, "refund", order="A-8", amount=120, currency="EUR"),
        ]
        self._script: Iterator[Any] = iter([*calls, text("Done.")])

    async def get_response(self, *args: Any, **options: Any) -> ModelResponse:
        return ModelResponse(output=[next(self._script)], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **options: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


def agent(paid: list[dict[str, Any]]) -> Agent[Any]:
    """The agent; ``paid`` receives the refunds that it pays."""

    @function_tool
    def refund(order: str, amount: int, currency: str) -> str:
        """Pays an order back."""
        paid.append({"order": order, "amount": amount, "currency": currency})
        return "paid"

    rules = Rules.from_path(RULES)
    tools = guarded(Guard(rules, approval="approval"), [refund])
    return Agent("desk", model=Scripted(), tools=[*tools], input_guardrails=[input_guardrail(rules, "requests")])


QUIET = RunConfig(tracing_disabled=True)


async def main() -> None:
    paid: list[dict[str, Any]] = []
    desk = agent(paid)
    try:
        await Runner.run(desk, "Here is my password", run_config=QUIET)
    except InputGuardrailTripwireTriggered:
        print("refused: the text has a secret")
    result = await Runner.run(desk, "I want my money back", run_config=QUIET)
    state = result.to_state()
    for waiting in result.interruptions:
        print("a person is asked:", waiting.name, waiting.arguments)
        state.approve(waiting)
    result = await Runner.run(desk, state, run_config=QUIET)
    print("paid:", paid)
    print("said:", result.final_output)


if __name__ == "__main__":
    asyncio.run(main())
