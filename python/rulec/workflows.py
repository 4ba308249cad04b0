"""Graphs of nodes whose work is Python functions, and whose routes are rules.

>>> import asyncio
>>> from rulec import Rules
>>> from rulec.workflows import Workflow
>>> rules = Rules.from_text('''
...     router again(output) { when output.rounds == 2 -> next[1]  otherwise -> next[0] loopback }
...     workflow review {
...       node draft write -> check
...       node check count -> draft, done by again
...       node done write
...     }
... ''')
>>> async def write(call):
...     return call.input
>>> def count(call):
...     return {"rounds": call.input.get("rounds", 0) + 1}
>>> async def main():
...     return await Workflow.from_rules(rules, "review", workers={"write": write, "count": count}).run({})
>>> asyncio.run(main())["executed"]
['draft', 'check', 'draft', 'check', 'done']
"""

from __future__ import annotations

from ._rulec import NodeCall, Workflow, WorkflowError, WorkflowRun

__all__ = ["NodeCall", "Workflow", "WorkflowError", "WorkflowRun"]
