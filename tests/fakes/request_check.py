"""API Gateway's view of a request's header: it accepts every Host and every content type."""

from __future__ import annotations

from collections.abc import Mapping

from berth_cli.server.gateway import RequestCheck


class AnyRequest(RequestCheck):
    """Accepts requests that `berth serve` refuses, to test how functions handle them."""

    def refusal(self, method: str, headers: Mapping[str, str]) -> None:
        """Accept it."""
