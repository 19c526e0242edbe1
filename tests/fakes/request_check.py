"""API Gateway's view of a request's header: it accepts every Host and every content type."""

from __future__ import annotations

from berth_cli.server.gateway import RequestCheck
from berth_cli.server.http.messages import Request


class AnyRequest(RequestCheck):
    """Accepts requests that `berth serve` refuses, to test how functions handle them."""

    def refusal(self, request: Request) -> None:
        """Accept the request."""
