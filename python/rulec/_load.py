"""Loading pickled rules: a process compiles an artifact once, however often it comes."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ._rulec import Rules

# Few rule sets serve at a time; a process that is sent ever new ones shall not keep them all.
_MOST = 16
_loaded: OrderedDict[bytes, Rules] = OrderedDict()
_lock = threading.Lock()


def load(artifact: bytes, functions: dict[str, Callable[..., Any]] | None = None) -> Rules:
    """Returns the rules of an artifact: those of this process, when it has loaded it before."""
    if functions:
        return Rules.from_artifact(artifact, functions=functions)
    key = hashlib.sha256(artifact).digest()
    with _lock:
        rules = _loaded.get(key)
        if rules is None:
            rules = _loaded[key] = Rules.from_artifact(artifact)
            if len(_loaded) > _MOST:
                _loaded.popitem(last=False)
        _loaded.move_to_end(key)
        return rules
