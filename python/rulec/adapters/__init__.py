"""Rules in agent frameworks: one module for each framework, which only that module imports.

| module | what it gives |
|---|---|
| ``rulec.adapters.langgraph`` | the conditional edges of a graph |
| ``rulec.adapters.langchain`` | a middleware that checks tool calls, and asks a person |
| ``rulec.adapters.openai_agents`` | guardrails of inputs and tools, and approval of tools |
| ``rulec.adapters.pydantic_ai`` | a toolset that checks tool calls, and defers them for approval |

``rulec.guard`` has the checks themselves, without a framework.
"""
