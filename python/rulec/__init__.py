"""Decide where messages are routed, by rules, with an explanation of each decision.

>>> from rulec import Rules
>>> rules = Rules.from_text('''
...     route show_files priority 100
...       when text contains any ["show", "list"] and ctx.message_count > 3
...       -> file_handler(limit: ctx.limit ?? 20) { type: "file_operation" }
...     default -> chat
... ''')
>>> decision = rules.decide({"text": "show my files", "ctx": {"message_count": 4}})
>>> decision.target, decision.args, decision.metadata
('file_handler', {'limit': 20}, {'type': 'file_operation'})

A condition on a missing field is unknown, and the explanation names the field.

>>> rules.decide({"text": "show my files"}).chosen
'default'
>>> "ctx.message_count is missing" in str(rules.explain({"text": "show my files"}))
True

Rules with errors raise an exception. It has the error text that the command line prints, and the
diagnostics as data.

>>> from rulec import CompileError
>>> try:
...     Rules.from_text('route a when n > 3 and n starts_with "x" -> h')
... except CompileError as error:
...     print(error.diagnostics[0].code, error.diagnostics[0].line)
E0304 1

``rulec.agents`` checks and executes decisions of language models, ``rulec.flows`` finds and
executes flows, and ``rulec.workflows`` runs graphs of nodes. ``rulec.guard`` checks the tool calls
of agents. ``rulec.tools`` defines tools from rules. ``rulec.history`` keeps earlier messages.
``rulec.adapters`` connects agent frameworks, and ``rulec.models`` makes models of pydantic.
``%load_ext rulec`` shows rules in notebooks, and ``pytest --rulec`` runs their tests.
``rulec.batch`` decides record batches; ``rulec.spark`` and ``rulec.rays`` decide them on clusters.
``python -m rulec`` is the command line.
"""

from __future__ import annotations

import atexit as _atexit
import importlib as _importlib
import logging as _logging
import sys as _sys

if _sys.version_info < (3, 12):
    # Later versions of Python refuse the extension themselves. Earlier ones load it, and may then
    # abort when they end.
    try:
        _interpreters = _importlib.import_module("_xxsubinterpreters")
        _is_main = _interpreters.get_current() == _interpreters.get_main()
    except ImportError:  # Python was built without this module, so no program makes sub-interpreters.
        _is_main = True
    if not _is_main:
        raise ImportError("rulec does not support sub-interpreters; import it in the main interpreter")

from ._rulec import (
    Classifier,
    ColumnsMismatch,
    CompileError,
    Condition,
    Decision,
    DecisionLog,
    Diagnostic,
    Edit,
    Explanation,
    Finding,
    Finished,
    FlowHit,
    Flows,
    Judge,
    JudgeByField,
    Judgement,
    LiveRules,
    MessageError,
    Outcome,
    Policy,
    Prepared,
    Question,
    ReportItem,
    Request,
    Router,
    RouterError,
    RulecError,
    Rules,
    Session,
    TestResult,
    UnknownName,
    Violation,
    Watch,
    WatchStatus,
    WatchedRules,
    __version__,
    log_level,
)
from ._rulec import end as _end

_atexit.register(_end)
# The program chooses how log records are handled. Without a handler of the program, they are dropped.
_logging.getLogger("rulec").addHandler(_logging.NullHandler())


def load_ipython_extension(shell: object) -> None:
    """Runs for ``%load_ext rulec`` of IPython and Jupyter; see ``rulec.notebook``."""
    from .notebook import load

    load(shell)


def unload_ipython_extension(shell: object) -> None:
    """Runs for ``%unload_ext rulec``."""
    from .notebook import unload

    unload(shell)


__all__ = [
    "Classifier",
    "ColumnsMismatch",
    "CompileError",
    "Condition",
    "Decision",
    "DecisionLog",
    "Diagnostic",
    "Edit",
    "Explanation",
    "Finding",
    "Finished",
    "FlowHit",
    "Flows",
    "Judge",
    "JudgeByField",
    "Judgement",
    "LiveRules",
    "MessageError",
    "Outcome",
    "Policy",
    "Prepared",
    "Question",
    "ReportItem",
    "Request",
    "Router",
    "RouterError",
    "RulecError",
    "Rules",
    "Session",
    "TestResult",
    "UnknownName",
    "Violation",
    "Watch",
    "WatchStatus",
    "WatchedRules",
    "__version__",
    "log_level",
]
