"""A call of a handler on its event loop, which can be cancelled from any thread."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any


class Call:
    """A handler and the request to call it with."""

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
        return await result if inspect.isawaitable(result) else result

    def cancel(self) -> None:
        """Cancels the handler at its next ``await``; may be called from any thread."""
        self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        self._cancelled = True
        if self._task is not None:
            self._task.cancel()
