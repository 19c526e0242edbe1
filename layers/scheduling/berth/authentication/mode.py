"""How a stack's callers say who they are."""

from __future__ import annotations

from enum import StrEnum


class Authentication(StrEnum):
    """BASIC: a password in the urlPrefix, for trying out. MTLS: a client certificate. There is no third."""

    BASIC = "basic"
    MTLS = "mtls"
