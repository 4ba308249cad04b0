"""Choices as steps of a program: made by rules, or by a language model that rules ask.

>>> from rulec import Rules
>>> from rulec.choices import ChoiceCall
>>> rules = Rules.from_text('''
...     choice size {
...       default branch small
...       branch big all { steps.count.n as number > 9 }
...     }
... ''')
>>> call = ChoiceCall(rules, "size")
>>> call.output(call.init({"steps": {"count": {"n": 12}}})).branch_id
'big'
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Callable, Mapping
from inspect import isawaitable
from typing import Any

from ._history import warn_without_history
from ._rulec import ChatModel, ModelRequest, Question, Rules, ask_choice

__all__ = ["AskedChoice", "ChoiceAnswer", "ChoiceCall", "ChoiceInput", "ChoiceOutput"]


@dataclasses.dataclass(frozen=True)
class ChoiceAnswer:
    """The branch that a model has chosen. On any failure, it is the default branch.

    >>> ChoiceAnswer("calm", False).branch
    'calm'
    """

    branch: str
    """Id of the branch."""
    to_user: bool
    """Whether the answer is shown to the user."""
    reason: str | None = None
    """Why the model chose the branch, if the rules ask for a reason."""
    failure: str | None = None
    """Why the default branch was taken; ``None`` if the model chose a branch."""
    ignored: list[str] = dataclasses.field(default_factory=list[str])
    """Further tool calls of the model, which were not used."""


class AskedChoice:
    """A choice that a language model makes: ``choice NAME ask "question" { … }``.

    ``model`` is a ``ChatModel``, or a function of a ``ModelRequest``, which may be async. The
    function returns the id of a branch, or the arguments of the tool call.

    >>> import asyncio
    >>> rules = Rules.from_text('''
    ...     choice mood ask "how does the customer feel?" { branch angry "furious"  default branch calm }
    ... ''')
    >>> choice = AskedChoice(rules, "mood", lambda request: "angry" if "!" in request.text else "joyful")
    >>> asyncio.run(choice.decide({"text": "Where is it!"})).branch
    'angry'
    >>> answer = asyncio.run(choice.decide({"text": "hello"}))
    >>> answer.branch, answer.failure
    ('calm', 'the model called no tool')
    """

    def __init__(self, rules: Rules, name: str, model: ChatModel | Callable[[ModelRequest], Any]) -> None:
        self.question: Question = rules.question(name)
        self._rules, self._model = rules, model

    def __repr__(self) -> str:
        return f"<AskedChoice {self.question.name}>"

    async def decide(self, message: Mapping[str, Any]) -> ChoiceAnswer:
        """Asks the model, and returns the branch that it has chosen."""
        question = self.question
        if isinstance(self._model, ChatModel):
            return ChoiceAnswer(*await ask_choice(self._rules, question.name, self._model, message))
        request = question.request(message)
        try:
            answer = self._model(request)
            picked = request.picked(await answer if isawaitable(answer) else answer)
            failure = None if picked else "the model called no tool"
        except asyncio.CancelledError:
            raise
        except Exception as error:
            picked, failure = None, f"{type(error).__name__}: {error}"
        branch, reason = picked or (question.default_branch, None)
        return ChoiceAnswer(branch, question.to_user, reason, failure)


@dataclasses.dataclass(frozen=True)
class ChoiceInput:
    """What ``ChoiceCall.init`` has read: the message, and the conditions that are left out.

    >>> ChoiceInput({"steps": {}}, []).skipped
    []
    """

    message: Mapping[str, Any]
    """The variables of the call, with the outputs of earlier steps in ``steps``."""
    skipped: list[dict[str, Any]]
    """The conditions that are left out, each with its branch and the reason."""


@dataclasses.dataclass(frozen=True)
class ChoiceOutput:
    """The branch that a choice takes.

    >>> ChoiceOutput("big", False).branch_id
    'big'
    """

    branch_id: str
    """Id of the branch; empty if no branch holds and there is no default."""
    to_user: bool
    """Whether the output is shown to the user."""
    reasons: list[str] = dataclasses.field(default_factory=list[str])
    """The reasons for the branch, one sentence each."""
    skipped: list[dict[str, Any]] = dataclasses.field(default_factory=list[dict[str, Any]])
    """The conditions that were left out, each with its branch and the reason."""


class ChoiceCall:
    """A choice as a step of a scheduler: ``init`` reads the variables, ``run`` yields the output.

    With ``model``, a language model makes the choice, as in ``AskedChoice``.

    >>> import asyncio
    >>> rules = Rules.from_text("choice size { default branch small  branch big all { steps.count.n as number > 9 } }")
    >>> call = ChoiceCall(rules, "size")
    >>> async def main():
    ...     return [output async for output in call.run(call.init({"steps": {"count": {}}}))]
    >>> [output] = asyncio.run(main())
    >>> output.branch_id
    'small'
    """

    def __init__(
        self, rules: Rules, name: str, *, model: ChatModel | Callable[[ModelRequest], Any] | None = None
    ) -> None:
        self._rules, self._name = rules, name
        self._asked = None if model is None else AskedChoice(rules, name, model)
        if self._asked is None:
            rules.decide({}, entry=name)  # Raises UnknownName.
            warn_without_history(rules, "a choice call")

    def __repr__(self) -> str:
        return f"<ChoiceCall {self._name}>"

    def init(self, variables: Mapping[str, Any]) -> ChoiceInput:
        """Reads the variables of the call. Also returns the left-out conditions, with the reasons."""
        skipped = [] if self._asked is not None else self._rules.skipped(self._name, variables)
        return ChoiceInput(variables, skipped)

    def output(self, input: ChoiceInput) -> ChoiceOutput:
        """Makes the choice by the rules."""
        decision = self._rules.decide(input.message, entry=self._name)
        reasons = self._rules.reasons(self._name, input.message)
        return ChoiceOutput(decision.branch or "", decision.to_user, reasons, input.skipped)

    async def run(self, input: ChoiceInput) -> AsyncIterator[ChoiceOutput]:
        """Makes the choice, and yields the output once."""
        if self._asked is None:
            yield self.output(input)
            return
        answer = await self._asked.decide(input.message)
        reasons = [reason for reason in (answer.reason, answer.failure) if reason]
        yield ChoiceOutput(answer.branch, answer.to_user, reasons)
