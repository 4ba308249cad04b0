"""A toolset of pydantic-ai that checks tool calls by rules, and defers those that a person must approve.

    agent = Agent(model, toolsets=[GuardedToolset(tools, guard)], output_type=[str, DeferredToolRequests])

The model receives the feedback on a rejected call, and may try again. A corrected call is executed
with the corrected arguments. A call that a person must approve ends the run with
``DeferredToolRequests``, whose ``metadata`` has the rule's ``reason``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic_ai import ApprovalRequired, ModelRetry, RunContext
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.toolsets import ToolsetTool, WrapperToolset

from ..guard import Guard


@dataclass
class GuardedToolset(WrapperToolset[Any]):
    """A toolset whose calls the guard checks, before they are executed.

    >>> from pydantic_ai import Agent
    >>> from pydantic_ai.models.test import TestModel
    >>> from pydantic_ai.toolsets import FunctionToolset
    >>> from rulec import Rules
    >>> def refund(amount: int) -> str:
    ...     return f"paid {amount}"
    >>> guard = Guard(Rules.from_text("payload refund rank 1 { amount: number in 0..=500 }"))
    >>> agent = Agent(TestModel(), toolsets=[GuardedToolset(FunctionToolset([refund]), guard)])
    >>> agent.run_sync("pay nothing back").output
    '{"refund":"paid 0"}'
    """

    guard: Guard

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]) -> Any:
        """Executes an accepted call; answers any other call with the feedback."""
        verdict = self.guard.check(tool_args, tool=name)
        if verdict.approval == "deny":
            raise ToolFailed(verdict.feedback)
        if not verdict.ok:
            raise ModelRetry(verdict.feedback)
        if verdict.approval == "ask" and not ctx.tool_call_approved:
            raise ApprovalRequired(metadata={"reason": verdict.reason})
        if verdict.judgement is not None and not verdict.judgement.is_valid:
            tool_args = tool.args_validator.validate_python(verdict.arguments)
        return await super().call_tool(name, tool_args, ctx, tool)
