"""An endpoint that answers with a document, or says why it cannot be read."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from enum import StrEnum

import orjson

from berth.extender.deadline import Deadline
from berth.runtime.http.endpoint import Endpoint, EndpointSettings
from berth.runtime.http.events import HTTPAnswer, HTTPEvent, http_answer


class DocumentEndpoint(Endpoint):
    """200 with the document, else 503 and the reason."""

    def __init__(
        self, name: str, settings: EndpointSettings, ok: StrEnum, unavailable: StrEnum, error: type[Exception]
    ) -> None:
        """error: the one that a source of the document raises while it cannot be read. Its message is the reason."""
        super().__init__(name, settings)
        self._ok, self._unavailable, self._error = ok, unavailable, error

    @abstractmethod
    def _content(self) -> Mapping[str, object]:
        """The document."""

    def _respond(self, event: HTTPEvent, caller: str, started: float, deadline: Deadline) -> HTTPAnswer:
        try:
            content = self._content()
        except self._error as error:
            self._log_ended(self._unavailable, str(error), caller, started, failed=True)
            return http_answer(503, orjson.dumps({"reason": str(error)}))
        self._log_ended(self._ok, "", caller, started, failed=False)
        return http_answer(200, orjson.dumps(content))
