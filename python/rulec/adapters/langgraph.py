"""Conditional edges of LangGraph, decided by rules.

>>> from rulec import Rules
>>> from rulec.adapters.langgraph import edge
>>> rules = Rules.from_text('''
...     router after_model(output) { when output.ok -> pay, audit  otherwise -> model }
... ''')
>>> after_model = edge(rules, "after_model")
>>> after_model({"output": {"ok": True}})
['pay', 'audit']

The function is the path of ``graph.add_conditional_edges("model", after_model, ["pay", "audit", "model"])``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from langgraph.graph import END

from .._history import warn_without_history
from .._rulec import Decision, Rules


def edge(rules: Rules, entry: str | None = None, *, message: Callable[[Any], Any] | None = None) -> Callable[[Any], list[Hashable]]:
    """Returns a function from the state of a graph to the names of its next nodes.

    The names come from the entry: the nodes of a ``router``, the handler of a table, the branch of
    a ``choice``, or the id of a flow. If the rules choose nothing, the graph ends. ``message``
    makes the message from the state, which is itself the message otherwise.

    >>> path = edge(Rules.from_text("default -> model"), message=lambda state: {"text": state["messages"][-1]})
    >>> path({"messages": ["hello"]})
    ['model']
    """
    if entry is not None and entry not in rules.entries:
        rules.decide({}, entry=entry)  # Raises UnknownName.
    warn_without_history(rules, "the edge of a graph")

    def path(state: Any) -> list[Hashable]:
        return nodes(rules.decide(state if message is None else message(state), entry=entry))

    # LangGraph shows this name in the picture of the graph.
    path.__name__ = path.__qualname__ = entry or "routes"
    return path


def nodes(decision: Decision) -> list[Hashable]:
    """Returns the names of the nodes that a decision names; ``END`` if it names none.

    >>> nodes(Rules.from_text("route big when n > 9 -> many").decide({"n": 3}))
    ['__end__']
    """
    if decision.next:
        return list(decision.next)
    name = decision.target or decision.branch or decision.flow
    return [END if name is None else name]
