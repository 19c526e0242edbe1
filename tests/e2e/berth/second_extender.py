"""A second extender for the scheduler's configuration, before or after Berth."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from tests.e2e.kubernetes.loopback import LoopbackService, Request, Response
from tests.e2e.kubernetes.scheduler_configuration import ExtenderConfiguration

REASON = "node(s) were rejected by the second extender"


class SecondExtender(LoopbackService):
    """Filters nodes by name in cache mode, and records the nodes of each request."""

    def __init__(self, *, rejects: Collection[str]) -> None:
        super().__init__(self._filter)
        self._rejects = rejects
        self.offered: list[set[str]] = []

    @property
    def configuration(self) -> ExtenderConfiguration:
        return ExtenderConfiguration(url_prefix=self.url_prefix, filter_verb="filter")

    def _filter(self, request: Request) -> Response:
        names: list[str] = json.loads(request.body)["NodeNames"]
        self.offered.append(set(names))
        answer: dict[str, Any] = {
            "NodeNames": [name for name in names if name not in self._rejects],
            "FailedAndUnresolvableNodes": {name: REASON for name in names if name in self._rejects},
        }
        return Response(200, json.dumps(answer).encode(), {"Content-Type": "application/json"})
