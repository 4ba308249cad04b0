"""A report about rules that read a history, at objects that keep none."""

from __future__ import annotations

import logging

from ._rulec import Rules

_log = logging.getLogger("rulec.history")


def warn_without_history(rules: Rules, decider: str) -> None:
    """Reports that ``decider`` decides without the history that these rules read."""
    if rules.has_history:
        _log.warning(
            "the rules have a `history`, but %s decides as if nothing happened before; a session with a store decides with the history",
            decider,
        )
