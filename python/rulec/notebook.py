"""Rules in Jupyter and IPython: decisions and rules as HTML, and the cell ``%%rules NAME``.

``%load_ext rulec`` adds the cell. Jupyter shows decisions, explanations, judgements and rules as HTML by itself.

>>> from rulec import Rules
>>> from rulec.notebook import rules_html
>>> rules_html(Rules.from_text('route big when n > 9 -> many default -> few'))
'<table><tr><th>entries</th><td>routes</td></tr><tr><th>handlers</th><td>few, many</td></tr></table>'

All texts are escaped. Explanations mask private values; the arguments of a decision are its result,
and stay as they are. The functions need no IPython.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from html import escape
from typing import Any, cast

from ._rulec import CompileError, Decision, Explanation, Judgement, Rules


def _table(rows: list[tuple[str, str]]) -> str:
    """Returns a table with a row for each text that is not empty."""
    filled = [f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in rows if text]
    return f"<table>{''.join(filled)}</table>"


def _pre(text: str) -> str:
    return f"<pre>{escape(text)}</pre>"


def decision_html(decision: Decision) -> str:
    """Returns a table with the parts of a decision that are not empty."""
    parts = decision.to_dict().items()
    return _table([(key, value if isinstance(value, str) else _json(value)) for key, value in parts])


def _json(value: Any) -> str:
    return "" if value is None or value == {} or value == [] else json.dumps(value, ensure_ascii=False)


def explanation_html(explanation: Explanation) -> str:
    """Returns the summary of an explanation, and the explanation of each route to unfold."""
    return f"{_pre(explanation.summary())}<details><summary>each route</summary>{_pre(str(explanation))}</details>"


def judgement_html(judgement: Judgement) -> str:
    """Returns the outcome of a check and its feedback."""
    return _table([("payload", judgement.kind), ("outcome", judgement.outcome)]) + _pre(judgement.feedback())


def rules_html(rules: Rules) -> str:
    """Returns the names that rules declare, and their warnings."""
    names = [("entries", rules.entries), ("handlers", rules.targets), ("payloads", rules.kinds)]
    warnings = "".join(_pre(found.rendered) for found in rules.warnings)
    return _table([(name, ", ".join(values)) for name, values in names]) + warnings


def load(shell: Any) -> None:
    """Registers the cell ``%%rules`` in a shell of IPython."""
    from IPython.core.error import UsageError

    def rules(line: str, cell: str) -> Rules:
        """Compiles the cell, and stores the rules in the variable NAME: ``%%rules NAME``.

        ``%%rules NAME FUNCTIONS`` gives the rules the functions in the dict FUNCTIONS, a variable.
        """
        name, *more = line.split() or [""]
        if not name.isidentifier() or len(more) > 1:
            raise UsageError("write `%%rules NAME` or `%%rules NAME FUNCTIONS`, with names of variables")
        if more and more[0] not in shell.user_ns:
            raise UsageError(f"there is no variable `{more[0]}`; define the dict of functions in a cell above")
        functions = cast("dict[str, Callable[..., Any]]", shell.user_ns[more[0]]) if more else None
        try:
            compiled = Rules.from_text(cell, functions=functions)
        except CompileError as error:
            # IPython shows this error without a traceback, and runs no further cell.
            raise UsageError(error.rendered) from None
        shell.user_ns[name] = compiled
        return compiled

    shell.register_magic_function(rules, magic_kind="cell", magic_name="rules")


def unload(shell: Any) -> None:
    """Removes what ``load`` registered."""
    shell.magics_manager.magics["cell"].pop("rules", None)
