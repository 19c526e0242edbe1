"""Warm-up events: a verb that is rarely called (preempt!) holds a fresh snapshot all the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import orjson
from botocore.exceptions import BotoCoreError, ClientError

from berth.runtime.http.events import WARM_UP_EVENT

INTERVAL_SECONDS = 60.0
"""Lambda keeps an environment that is called this often, and what it has to catch up with stays small."""


class LambdaClient(Protocol):
    """The one call of boto3's Lambda client that is needed."""

    def invoke(self, *, FunctionName: str, InvocationType: str, Payload: bytes) -> object:  # noqa: N803  boto3's names
        """Raises ClientError and BotoCoreError."""


class WarmUp:
    """Told of every publication; invokes the functions in a thread, without waiting for their answers."""

    def __init__(
        self,
        client: Callable[[], LambdaClient],
        functions: Sequence[str],
        monotonic: Callable[[], float],
        warn: Callable[[str], None],
    ) -> None:
        """`client` is asked for when the first event is sent."""
        self._client = client
        self._functions = functions
        self._monotonic = monotonic
        self._warn = warn
        self._sent_at: float | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="warm-up")

    def published(self) -> None:
        """Send the events if it is time to."""
        now = self._monotonic()
        if self._functions and (self._sent_at is None or now - self._sent_at >= INTERVAL_SECONDS):
            self._sent_at = now
            self._thread.submit(self._send)

    def close(self) -> None:
        """Wait for what is under way."""
        self._thread.shutdown()

    def _send(self) -> None:
        for function in self._functions:
            try:
                self._client().invoke(
                    FunctionName=function, InvocationType="Event", Payload=orjson.dumps(WARM_UP_EVENT)
                )
            except (ClientError, BotoCoreError) as error:
                self._warn(f"{function} was not warmed up: {error}")
