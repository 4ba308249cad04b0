"""Loading rules that come from another process: a process compiles an artifact once, however often it comes."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from ._rulec import Rules

# Few rule sets serve at a time; a process that is sent ever new ones shall not keep them all.
_MOST = 16
_loaded: OrderedDict[str, Rules] = OrderedDict()
_lock = threading.Lock()


def digest(artifact: bytes) -> str:
    """The name that an artifact goes by."""
    return hashlib.sha256(artifact).hexdigest()


def once(name: str, artifact: Callable[[], bytes]) -> Rules:
    """Returns the rules of that name: those of this process, when it has loaded them before."""
    with _lock:
        rules = _loaded.get(name)
        if rules is None:
            rules = _loaded[name] = Rules.from_artifact(artifact())
            if len(_loaded) > _MOST:
                _loaded.popitem(last=False)
        _loaded.move_to_end(name)
        return rules


def load(artifact: bytes, functions: Mapping[str, Callable[..., Any]] | None = None) -> Rules:
    """Returns the rules of an artifact, as pickled rules are loaded."""
    if functions:
        return Rules.from_artifact(artifact, functions=functions)
    return once(digest(artifact), lambda: artifact)
