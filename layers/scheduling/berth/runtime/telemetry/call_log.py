"""The log line of a call.

It has the form that Powertools gives it, and is written without its general ways, which with 100 names in a request
took half of the whole call.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from datetime import UTC, datetime

import orjson
from aws_lambda_powertools import Logger

SERVICE = "berth"


class CallLog:
    """Writes to where the service's logger writes, at its level."""

    def __init__(self, logger: Logger) -> None:
        self._logger = logging.getLogger(logger.service)

    def write(self, level: int, message: str, fields: Mapping[str, object], now: float) -> bool:
        """One line, where the level is wanted; else False. now: seconds since the epoch."""
        if not self._logger.isEnabledFor(level):
            return False
        line = {
            "level": logging.getLevelName(level),
            "message": message,
            "timestamp": datetime.fromtimestamp(now, UTC),
            "service": SERVICE,
            **fields,
        }
        trace = os.environ.get("_X_AMZN_TRACE_ID")
        if trace:
            line["xray_trace_id"] = trace.partition(";")[0].removeprefix("Root=")
        text = orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE).decode()
        for handler in self._logger.handlers:
            if isinstance(handler, logging.StreamHandler):
                handler.acquire()
                try:
                    handler.stream.write(text)
                    handler.stream.flush()
                finally:
                    handler.release()
        return True
