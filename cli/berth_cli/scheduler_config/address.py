"""The extender's urlPrefix: checked, and with Basic credentials in it where they are wanted (fact 37)."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import SplitResult, quote, urlsplit, urlunsplit

PLACEHOLDER = "BERTH_PASSWORD"
"""What stands in the place of a password that was not given."""


class NotAnAddress(ValueError):
    """The message says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Basic:
    """A user, and the password where it may be printed."""

    user: str
    password: str | None = field(default=None, repr=False)


def checked(url: str) -> SplitResult:
    """An http or https address without credentials. Raises NotAnAddress."""
    try:
        parts = urlsplit(url)
        port = parts.port  # raises when it is none
    except ValueError as error:
        raise NotAnAddress(f"{url}: {error}") from error
    if "@" in parts.netloc:
        raise NotAnAddress("the address has credentials inside; give --user and --password-from instead")
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise NotAnAddress(f"{url} is not an address such as https://HOST/scheduler")
    if parts.query or parts.fragment:
        raise NotAnAddress(f"{url} has a query or a fragment, which an urlPrefix cannot have")
    return parts


def url_prefix(url: str, basic: Basic | None) -> str:
    """As kube-scheduler wants it. Raises NotAnAddress."""
    parts = checked(url.rstrip("/"))
    if basic is None:
        return urlunsplit(parts)
    password = PLACEHOLDER if basic.password is None else quote(basic.password, safe="")
    return urlunsplit(parts._replace(netloc=f"{quote(basic.user, safe='')}:{password}@{parts.netloc}"))
