"""Tool definitions for language models, generated from rules.

A payload kind becomes a tool whose parameters are its JSON Schema, so the model knows the structure
that the rules check. A choice becomes a tool that answers with a branch. All intent flows together
become one tool that starts a flow.

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
    """Returns the payload kinds as tools, in the order of the rules."""
    return [_payload(rules, kind) for kind in rules.kinds]


def choices(rules: Rules) -> list[Tool]:
    """Returns the choices as tools. If the model makes the choice, it answers with the tool."""
    return [rules.choice_tool(name) for name in rules.choices]


def flows(rules: Rules) -> list[Tool]:
    """Returns the tool that starts an intent flow; empty if there are no intent flows."""
    try:
        found = rules.flows()
    except RulecError:
        return []
    return [found.tool] if found.intents else []


def definitions(rules: Rules, *, style: Style = "openai") -> list[Tool]:
    """Returns all tools of the rules in an API's format: payload kinds, choices, then flows."""
    tools = [*payloads(rules), *choices(rules), *flows(rules)]
    return tools if style == "openai" else [anthropic(tool) for tool in tools]


def anthropic(tool: Tool) -> Tool:
    """Converts a tool to the format of Anthropic's Messages API."""
    function = tool["function"]
    return {"name": function["name"], "description": function["description"], "input_schema": function["parameters"]}


def _payload(rules: Rules, kind: str) -> Tool:
    schema = rules.schema(kind)
    # Keys that describe the schema itself and not a call.
    for about in ("$schema", "$comment", "title"):
        schema.pop(about, None)
    description = schema.pop("description", "") or f"Proposes a {kind}."
    return {"type": "function", "function": {"name": kind, "description": description, "parameters": schema}}
