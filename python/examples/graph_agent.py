"""The agent of ``guarded_agent.py`` as a LangGraph graph.

The conditional edge of the graph calls the rules: their `router` statement selects the next node.

Run it: ``python examples/graph_agent.py`` (needs ``pip install langgraph``)
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph

from guarded_agent import Message, Model, scripted
from rulec import Rules, tools
from rulec.adapters.langgraph import edge
from rulec.guard import Guard

DESK = Path(__file__).parent / "desk.rules"


class State(TypedDict):
    messages: list[Message]
    output: dict[str, Any]
    paid: list[dict[str, Any]]


def graph(model: Model, *, balance: float) -> Any:
    """Returns the graph: the model calls a tool, the guard checks the call, the rules route it."""
    rules = Rules.from_path(DESK)
    guard = Guard(rules, inputs={"context": {"balance": balance}})
    definitions = tools.payloads(rules)

    def speak(state: State) -> dict[str, Any]:
        said = model(state["messages"], definitions)
        verdict = guard.check(said)
        messages = [*state["messages"], {"role": "assistant", "tool_calls": [said]}, verdict.message()]
        output = {"tool": verdict.tool, "ok": verdict.ok, "arguments": verdict.arguments}
        return {"messages": messages, "output": output}

    def pay(state: State) -> dict[str, Any]:
        return {"paid": [*state["paid"], state["output"]["arguments"]]}

    def finish(state: State) -> dict[str, Any]:
        answer = {"role": "assistant", "content": state["output"]["arguments"]["text"]}
        return {"messages": [*state["messages"], answer]}

    after_model = edge(rules, "after_model", message=lambda state: {"output": state["output"]})
    building: Any = StateGraph(State)
    building.add_node("model", speak)
    building.add_node("pay", pay)
    building.add_node("finish", finish)
    building.add_edge(START, "model")
    building.add_conditional_edges("model", after_model, ["model", "pay", "finish"])
    building.add_edge("pay", "model")
    building.add_edge("finish", END)
    return building.compile()


def main() -> None:
    asked: State = {"messages": [{"role": "user", "content": "I want my money back"}], "output": {}, "paid": []}
    state = graph(scripted(), balance=100).invoke(asked)
    print("paid:", state["paid"])
    print("said:", state["messages"][-1]["content"])


if __name__ == "__main__":
    main()
