"""The extender's urlPrefix: validation, and Basic credentials as part of the URL (fact 37)."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import SplitResult, quote, urlsplit, urlunsplit

PASSWORD_PLACEHOLDER = "BERTH_PASSWORD"  # noqa: S105  not a password
"""Printed in place of a password that was not given."""


class InvalidAddress(ValueError):
    """The URL is not a valid urlPrefix. The message names the reason."""


@dataclass(frozen=True, slots=True)
class BasicCredentials:
    """A user, and the password if it may be printed."""

    user: str
    password: str | None = field(default=None, repr=False)


def parse_address(url: str) -> SplitResult:
    """Parse an http or https address without credentials. Raises InvalidAddress."""
    try:
        parts = urlsplit(url)
        port = parts.port  # raises ValueError for an invalid port
    except ValueError as error:
        raise InvalidAddress(f"{url}: {error}") from error
    if "@" in parts.netloc:
        raise InvalidAddress("the address contains credentials; use --user and --password-from instead")
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise InvalidAddress(f"{url} is not an address such as https://HOST/scheduler")
    if parts.query or parts.fragment:
        raise InvalidAddress(f"{url} has a query or a fragment, which urlPrefix does not allow")
    return parts


def url_prefix(url: str, basic: BasicCredentials | None) -> str:
    """The value for kube-scheduler's `urlPrefix`. Raises InvalidAddress."""
    parts = parse_address(url.rstrip("/"))
    if basic is None:
        return urlunsplit(parts)
    password = PASSWORD_PLACEHOLDER if basic.password is None else quote(basic.password, safe="")
    return urlunsplit(parts._replace(netloc=f"{quote(basic.user, safe='')}:{password}@{parts.netloc}"))
