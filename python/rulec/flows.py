"""Flows that a message may start: found by keywords or meaning, and executed over HTTP.

``RULEC_MODEL_KEY`` in the environment is the key of a ``ChatModel``. Any function may take its
place: it receives a ``ModelRequest`` and returns an id, or the arguments of the tool call.

>>> import asyncio
>>> from rulec import Rules
>>> from rulec.flows import FlowChat, HttpClient
>>> rules = Rules.from_text('''
...     flow tool flow_executor { endpoint: { url: "http://localhost:9/trigger", method: "POST", body: { flow: "{flow_id}" } } }
...     flow greeting keyword exact ["hello"] -> "greet"
... ''')
>>> chat = FlowChat(rules, client=HttpClient(allow=["localhost:9"], retries=0))
>>> outcome = asyncio.run(chat.query("Hello"))
>>> outcome.flow, outcome.found_by, outcome.kind
('greet', 'keyword', 'failed')
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import isawaitable
from typing import Any

from ._rulec import (
    ChatModel,
    FlowHit,
    FlowOutcome,
    FlowRunner,
    Flows,
    HttpClient,
    HttpError,
    HttpHandler,
    LiveRules,
    ModelRequest,
    NodeFactory,
    Response,
    Router,
    Rules,
    WatchedRules,
    http_handler,
)

__all__ = [
    "ChatModel",
    "FlowChat",
    "FlowHit",
    "FlowOutcome",
    "FlowRunner",
    "Flows",
    "HttpClient",
    "HttpError",
    "HttpHandler",
    "ModelRequest",
    "NodeFactory",
    "Response",
    "http_handler",
]


class FlowChat:
    """Finds the flow for each message, by keyword, by classifier or by a model, and executes it.

    ``rules`` may be live rules, watched rules or a router. The rules in force then find the flow.
    ``model`` is a ``ChatModel``, or a function, which may be async. The rules declare the endpoint
    that executes a flow: ``flow tool … { endpoint: … }``.

    >>> import asyncio
    >>> rules = Rules.from_text('''
    ...     flow tool flow_executor { endpoint: { url: "http://localhost:9/trigger", method: "POST", body: { flow: "{flow_id}" } } }
    ...     flow greeting keyword exact ["hello"] -> "greet"
    ...     flow refund "gives the customer the money back" intent -> "refund"
    ... ''')
    >>> chat = FlowChat(rules, client=HttpClient(allow=["localhost:9"], retries=0), model=lambda request: "refund")
    >>> outcome = asyncio.run(chat.query("zzz"))
    >>> outcome.flow, outcome.found_by, outcome.kind
    ('refund', 'model', 'failed')
    """

    def __init__(
        self,
        rules: Rules | LiveRules | WatchedRules | Router,
        *,
        client: HttpClient,
        model: ChatModel | Callable[[ModelRequest], Any] | None = None,
    ) -> None:
        own = model if isinstance(model, ChatModel) else None
        self._ask: Callable[[ModelRequest], Any] | None = None if model is None or isinstance(model, ChatModel) else model
        self._runner = FlowRunner(rules, client, model=own)

    async def query(
        self,
        text: str,
        context: Mapping[str, Any] | None = None,
        *,
        history: Sequence[tuple[str, str]] = (),
        arguments: Mapping[str, Any] | None = None,
    ) -> FlowOutcome:
        """Finds the flow for a text and executes it.

        ``context`` and ``arguments`` fill the placeholders ``#name#`` and ``{name}`` of the
        endpoint. ``history`` are earlier messages: pairs of ``user`` or ``assistant`` and the text.
        """
        question = self._runner.question(text) if self._ask is not None else None
        if self._ask is not None and question is not None:
            answer = self._ask(question)
            picked = question.picked(await answer if isawaitable(answer) else answer)
            if picked is not None:
                return await self._runner.execute(picked[0], context, arguments=arguments)
        return await self._runner.handle(text, context, history=list(history), arguments=arguments)
