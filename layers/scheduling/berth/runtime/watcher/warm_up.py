"""Warm-up events: they keep the snapshot of a rarely called verb (such as preempt) up to date."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import orjson
from botocore.exceptions import BotoCoreError, ClientError

from berth.runtime.http.events import WARM_UP_EVENT

INTERVAL_SECONDS = 10.0
"""The events go to the alias: within this time of a deployment they start the new version of every function. Lambda
keeps an environment that is invoked this often, and there are few changes to load."""


class LambdaClient(Protocol):
    """The one method of boto3's Lambda client that is used."""

    def invoke(self, *, FunctionName: str, InvocationType: str, Payload: bytes) -> object:  # noqa: N803  boto3's names
        """Raises ClientError and BotoCoreError."""


class WarmUp:
    """Invokes the functions in a thread, without waiting for their answers."""

    def __init__(
        self,
        client: Callable[[], LambdaClient],
        functions: Sequence[str],
        monotonic: Callable[[], float],
        warn: Callable[[str], None],
    ) -> None:
        """`client`: called when the first event is sent. `warn`: called with the cause of a failed invocation."""
        self._client = client
        self._functions = functions
        self._monotonic = monotonic
        self._warn = warn
        self._sent_at: float | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="warm-up")

    def published(self) -> None:
        """Call it after every publication: it sends the events once in ten seconds."""
        now = self._monotonic()
        if self._functions and (self._sent_at is None or now - self._sent_at >= INTERVAL_SECONDS):
            self._sent_at = now
            self._thread.submit(self._send)

    def close(self) -> None:
        """Wait for the running invocations."""
        self._thread.shutdown()

    def _send(self) -> None:
        for function in self._functions:
            try:
                self._client().invoke(
                    FunctionName=function, InvocationType="Event", Payload=orjson.dumps(WARM_UP_EVENT)
                )
            except (ClientError, BotoCoreError) as error:
                self._warn(f"{function} was not warmed up: {error}")
