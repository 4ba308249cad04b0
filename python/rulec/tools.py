"""Definitions of tools for language models, made from rules.

A payload kind is a tool whose parameters are its JSON Schema, so that a model is told what the rules will hold its
calls against. A choice is a tool that answers with a branch, and intent flows are one that starts a flow.

>>> from rulec import Rules, tools
>>> rules = Rules.from_text('''
...     ## Sends an answer to the user.
...     payload respond rank 1 { response: string not blank }
... ''')
>>> [tool] = tools.definitions(rules)
>>> tool["function"]["name"], tool["function"]["description"]
('respond', 'Sends an answer to the user.')
>>> tool["function"]["parameters"]["required"]
['response']
"""

from __future__ import annotations

from typing import Any, Literal

from ._rulec import RulecError, Rules

Style = Literal["openai", "anthropic"]
Tool = dict[str, Any]


def payloads(rules: Rules) -> list[Tool]:
    """The payload kinds as tools, in the order of the rules."""
    return [_payload(rules, kind) for kind in rules.kinds]


def choices(rules: Rules) -> list[Tool]:
    """The choices as tools; one that a model makes is the tool by which it answers."""
    return [rules.choice_tool(name) for name in rules.choices]


def flows(rules: Rules) -> list[Tool]:
    """The tool that starts an intent flow; none, when the rules have no such flow."""
    try:
        found = rules.flows()
    except RulecError:
        return []
    return [found.tool] if found.intents else []


def definitions(rules: Rules, *, style: Style = "openai") -> list[Tool]:
    """Every tool of the rules: payload kinds, then choices, then flows, in the form that an interface takes."""
    tools = [*payloads(rules), *choices(rules), *flows(rules)]
    return tools if style == "openai" else [anthropic(tool) for tool in tools]


def anthropic(tool: Tool) -> Tool:
    """The same tool in the form of the messages interface: name, description and input schema."""
    function = tool["function"]
    return {"name": function["name"], "description": function["description"], "input_schema": function["parameters"]}


def _payload(rules: Rules, kind: str) -> Tool:
    schema = rules.schema(kind)
    # What says which schema it is, and not what a call is like.
    for about in ("$schema", "$comment", "title"):
        schema.pop(about, None)
    description = schema.pop("description", "") or f"Proposes a {kind}."
    return {"type": "function", "function": {"name": kind, "description": description, "parameters": schema}}
