"""The wait of a task whose pipeline or chunk another process has."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from ._airflow import BaseTrigger, TriggerEvent


class TidemarkBusyTrigger(BaseTrigger):
    """Fire after some seconds. Only the worker knows the lease, so it looks
    again; meanwhile the task holds no slot there."""

    def __init__(self, seconds: float) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seconds = seconds

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """The words that make it anew in the triggerer."""
        return (f"{type(self).__module__}.{type(self).__name__}",
                {"seconds": self.seconds})

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Wait, and fire once."""
        await asyncio.sleep(self.seconds)
        yield TriggerEvent(  # type: ignore[no-untyped-call]
            {"waited": self.seconds})
