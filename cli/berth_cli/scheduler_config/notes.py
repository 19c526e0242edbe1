"""What is true of a configuration and easily overlooked: said on standard error, one line each."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address
from urllib.parse import urlsplit

from berth_cli.scheduler_config.extenders import Choices, Mode, Verb
from berth_cli.scheduler_config.kube_scheduler_configuration import parse_duration

GATEWAY_SECONDS = 30
"""API Gateway gives up after this time."""
LEAST_BIND_SECONDS = 2
"""bind answers a second before the time is over (fact 23)."""


def cautions(choices: Choices, *, with_password: bool, bounded_retries: bool, second: bool) -> Iterator[str]:
    """`with_password`: the urlPrefix has Basic credentials. `second`: the scheduler runs in a pod."""
    parts = urlsplit(choices.url_prefix)
    if second and is_loopback(parts.hostname or ""):
        yield "the address is loopback: a second scheduler finds Berth there only in a container of its own pod"
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        yield "plain http: whoever is on the way reads and changes what is decided" + (
            ", and reads the password" if with_password else ""
        )
    if parts.scheme == "http" and choices.tls is not None:
        yield "the address begins with http: certificates are not used; give one that begins with https"
    if not parts.path.endswith("/scheduler"):
        yield "the address does not end in /scheduler, where Berth has its verbs; `berth doctor --url` tries them"
    if with_password:
        yield (
            "the password is part of the urlPrefix: it shows in the event of a pod on any answer but 200, and in the "
            "scheduler's log at -v=2 and above (fact 37); client certificates do not have this"
        )
    yield from _about_timeout(choices)
    if choices.mode is Mode.FULL:
        yield (
            "whole nodes are sent: requests end at 6 MB, some 300 to 600 nodes, and every node looks empty to the "
            "scheduler's own resource scores (fact 13)"
        )
    if choices.ignorable:
        yield "ignorable: while Berth is down, pods are placed without its rules (fact 39)"
    if bounded_retries:
        yield "bounded retries: a rejected pod that fits now is tried after up to 9 s instead of 0.1 s (fact 44)"


def _about_timeout(choices: Choices) -> Iterator[str]:
    seconds = parse_duration(choices.http_timeout) or 0.0
    if seconds > GATEWAY_SECONDS:
        yield f"httpTimeout {choices.http_timeout}: API Gateway gives up after {GATEWAY_SECONDS} s"
    if Verb.BIND in choices.verbs and seconds < LEAST_BIND_SECONDS:
        yield f"httpTimeout {choices.http_timeout}: bind needs {LEAST_BIND_SECONDS} s at least (fact 23)"


def is_loopback(host: str) -> bool:
    """Whether the address is this machine's own."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
