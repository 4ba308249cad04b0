"""A warning for objects without a history that decide by rules which read one."""

from __future__ import annotations

import logging

from ._rulec import Rules

_log = logging.getLogger("rulec.history")


def warn_without_history(rules: Rules, decider: str) -> None:
    """Logs a warning that ``decider`` decides without the history, if the rules read one."""
    if rules.has_history:
        _log.warning(
            "the rules have a `history`, but %s decides as if nothing happened before; a session with a store decides with the history",
            decider,
        )
