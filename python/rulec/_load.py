"""Loads rules that another process sent. Each process compiles an artifact only once."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from ._rulec import Rules

# Maximum number of cached rule sets. Few are in use at a time; the limit bounds the memory of a
# process that keeps receiving new ones.
_MOST = 16
_loaded: OrderedDict[str, Rules] = OrderedDict()
_lock = threading.Lock()


def digest(artifact: bytes) -> str:
    """Returns the cache key of an artifact: its SHA-256 hash."""
    return hashlib.sha256(artifact).hexdigest()


def once(name: str, artifact: Callable[[], bytes]) -> Rules:
    """Returns the cached rules of this name, or loads them from the artifact."""
    with _lock:
        rules = _loaded.get(name)
        if rules is None:
            rules = _loaded[name] = Rules.from_artifact(artifact())
            if len(_loaded) > _MOST:
                _loaded.popitem(last=False)
        _loaded.move_to_end(name)
        return rules


def load(
    artifact: bytes,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    context: str | None = None,
) -> Rules:
    """Returns the rules of an artifact; unpickling rules calls this function.

    ``context`` is the payload context that was loaded with the rules.
    """
    if functions:
        rules = Rules.from_artifact(artifact, functions=functions)
    else:
        rules = once(digest(artifact), lambda: artifact)
    return rules if context is None else Rules.from_payload_context(context, rules=rules)
