"""Calls of handlers on the caller's event loop, and from other threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from inspect import isawaitable
from types import CoroutineType
from typing import Any

from ._rulec import Outcome, Router, Started

# The usual type of awaitables is compared first, because `isawaitable` takes longer.
_COROUTINE: type[Any] = CoroutineType


class Call:
    """A handler and the request to call it with, which can be cancelled from any thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop, function: Callable[[Any], Any], request: Any) -> None:
        self._loop = loop
        self._function = function
        self._request = request
        self._task: asyncio.Task[Any] | None = None
        self._cancelled = False

    async def run(self) -> Any:
        """Calls the handler, and awaits the result if it is awaitable."""
        if self._cancelled:
            return None
        self._task = asyncio.current_task()
        result = self._function(self._request)
        return await result if isawaitable(result) else result

    def cancel(self) -> None:
        """Cancels the handler at its next ``await``; may be called from any thread."""
        self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        self._cancelled = True
        if self._task is not None:
            self._task.cancel()


async def route(router: Router, message: Any, permissions: Any) -> Outcome | None:
    """Routes a message. Awaits the handler here, unless its policy or a hook needs tokio."""
    begun = router._begin(message, permissions)
    if type(begun) is not Started:
        return begun if isinstance(begun, Outcome) else await begun
    try:
        started = begun.start()
        reply: Any = await started if type(started) is _COROUTINE or isawaitable(started) else started
    except asyncio.CancelledError as error:
        if _is_being_cancelled():
            begun.cancel()
            raise
        return begun.fail(error)
    except Exception as error:
        return begun.fail(error)
    except BaseException:
        begun.cancel()
        raise
    return begun.finish(reply)


def _is_being_cancelled() -> bool:
    """True if the current task is being cancelled. Always true before Python 3.11, which cannot detect it."""
    task = asyncio.current_task()
    return task is None or not hasattr(task, "cancelling") or task.cancelling() > 0
