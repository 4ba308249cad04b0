"""A middleware of LangChain that checks tool calls by rules, and asks a person where the rules say so.

    agent = create_agent(model, tools, middleware=[GuardMiddleware(guard)], checkpointer=InMemorySaver())

A rejected call is answered with the feedback. A corrected call is executed with the corrected
arguments. A call that a person must approve interrupts the graph, with the request and the answers
of ``HumanInTheLoopMiddleware``: ``Command(resume={"decisions": [{"type": "approve"}]})``, for example.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import ToolMessage
from langgraph.types import Command, interrupt

from ..guard import Guard

Result = ToolMessage | Command[Any]


class GuardMiddleware(AgentMiddleware[Any, Any, Any]):
    """Checks each tool call of an agent by a guard, before it is executed.

    >>> from rulec import Rules
    >>> guard = Guard(Rules.from_text("payload refund rank 1 { amount: number in 0..=500 }"))
    >>> call = {"name": "refund", "args": {"amount": 900}, "id": "1"}
    >>> request = ToolCallRequest(tool_call=call, tool=None, state={}, runtime=None)
    >>> GuardMiddleware(guard).wrap_tool_call(request, print).status
    'error'
    """

    def __init__(self, guard: Guard) -> None:
        super().__init__()
        self._guard = guard

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Result]) -> Result:
        """Executes an accepted call; answers any other call with the feedback."""
        checked = self._checked(request)
        return checked if isinstance(checked, ToolMessage) else handler(checked)

    async def awrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Result]]) -> Result:
        """Like ``wrap_tool_call``, with a handler that is awaited."""
        checked = self._checked(request)
        return checked if isinstance(checked, ToolMessage) else await handler(checked)

    def _checked(self, request: ToolCallRequest) -> ToolCallRequest | ToolMessage:
        call: Any = request.tool_call
        verdict = self._guard.check(call)
        if verdict.ok and verdict.approval == "ask":
            action = {"name": verdict.tool, "args": verdict.arguments, "description": verdict.reason}
            allowed = {"action_name": verdict.tool, "allowed_decisions": ["approve", "edit", "reject"]}
            [answer] = interrupt({"action_requests": [action], "review_configs": [allowed]})["decisions"]
            if answer["type"] == "edit":
                call = {**call, **answer["edited_action"]}
                verdict = self._guard.check(call)
            elif answer["type"] != "approve":
                return self._refusal(call, answer.get("message") or f"A person refused the call of `{call['name']}`.")
        if verdict.arguments is None:
            return self._refusal(call, verdict.feedback)
        call = {**call, "args": verdict.arguments}
        return request.override(tool_call=call)

    def _refusal(self, call: Any, content: str) -> ToolMessage:
        return ToolMessage(content=content, name=call["name"], tool_call_id=call["id"], status="error")
