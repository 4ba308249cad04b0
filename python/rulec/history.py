"""What happened before: stores of earlier messages, for rules with a ``history`` statement.

>>> from rulec import Rules
>>> from rulec.history import MemoryStore
>>> rules = Rules.from_text('''
...     input { tool: string, user: string, now: datetime }
...     history by user keep 24h
...     route too_fast when (count p in history within 1m: p.tool == tool) >= 2 -> slow_down
...     default -> run
... ''')
>>> session = rules.session(history=MemoryStore())
>>> call = {"tool": "search", "user": "ann", "now": "2026-01-31T12:00:00Z"}
>>> [session.decide_and_record(call).target for _ in range(3)]
['run', 'run', 'slow_down']

``session.explain`` and ``session.why_not`` answer with the same messages. So do the methods of the rules with the store as
``history=``, and their payload checkers.

>>> session.explain(call).chosen, rules.explain(call).chosen
('too_fast', 'default')

``DurableStore`` keeps the messages in a folder, and ``SharedStore`` at a Redis server.

A store in Python is an object with a method ``with_key``, which is a context manager. It gives the
messages of one key as a list of dicts, and keeps what the session leaves in the list. It must not
give one key to two threads at the same time.

>>> from contextlib import contextmanager
>>> class DictStore:
...     def __init__(self):
...         self.histories = {}
...     @contextmanager
...     def with_key(self, key):
...         messages = self.histories.get(key, [])
...         yield messages
...         self.histories[key] = messages
>>> store = DictStore()
>>> rules.session(history=store).observe(call)
>>> [(key, [message["tool"] for message in messages]) for key, messages in store.histories.items()]
[('"ann', ['search'])]

If the rules only compare a ``@private`` text with others, its hash is kept instead. The store then needs the attribute
``hash_key``: 16 random bytes, as from ``secrets.token_bytes(16)``, which it keeps as long as the messages.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol

from ._rulec import DurableStore, MemoryStore, SharedStore

__all__ = ["DurableStore", "MemoryStore", "SharedStore", "Store"]


class Store(Protocol):
    """Keeps the earlier messages of each key.

    >>> from rulec.history import MemoryStore
    >>> MemoryStore(max_keys=64).key_count
    0
    """

    def with_key(self, key: str) -> AbstractContextManager[list[dict[str, Any]]]: ...
