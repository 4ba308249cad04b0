"""Decisions of language models: checked by rules, published as events, and executed.

>>> import asyncio
>>> from rulec import Rules
>>> from rulec.agents import Coordinator, DecisionMade, DecisionRejected
>>> rules = Rules.from_text('payload respond rank 1 { response: string not blank }')
>>> async def main():
...     coordinator = Coordinator(rules)
...     inbox = coordinator.bus.subscribe(DecisionRejected)
...     await coordinator.publish(DecisionMade("respond", {"response": " "}))
...     return (await anext(inbox)).errors
>>> asyncio.run(main())
['$.response: `response` must not be blank']

A coordinator runs plans whose nodes are Python functions, the ``workers``.

>>> rules = Rules.from_text('''
...     payload create_node rank 1 { node_type: string; node_name: string; config: dict }
... ''')
>>> async def llm(call):
...     return {"text": call.config["prompt"].upper()}
>>> async def main():
...     session = Coordinator(rules, workers={"LLM": llm}).session()
...     payload = {"node_type": "LLM", "node_name": "greet", "config": {"prompt": "hello"}}
...     return await session.offer([DecisionMade("create_node", payload)])
>>> asyncio.run(main()).done[0].report["outputs"]
{'greet': {'text': 'HELLO'}}
"""

from __future__ import annotations

from ._rulec import (
    AgentSession,
    Bus,
    Coordinator,
    DecisionMade,
    DecisionRejected,
    DecisionValidated,
    Done,
    Handled,
    Middleware,
    NodeCall,
    NodeExecutionFailed,
    Published,
    RetryRequest,
    Stop,
    Subscription,
    Turn,
)

__all__ = [
    "AgentSession",
    "Bus",
    "Coordinator",
    "DecisionMade",
    "DecisionRejected",
    "DecisionValidated",
    "Done",
    "Handled",
    "Middleware",
    "NodeCall",
    "NodeExecutionFailed",
    "Published",
    "RetryRequest",
    "Stop",
    "Subscription",
    "Turn",
]
