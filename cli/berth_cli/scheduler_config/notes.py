"""Notes on the consequences of options, printed to standard error, one line each."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address
from urllib.parse import urlsplit

from berth_cli.scheduler_config.extenders import ExtenderOptions, Mode, Verb
from berth_cli.scheduler_config.kube_scheduler_configuration import GANG_BACKOFF_SECONDS, parse_duration

API_GATEWAY_TIMEOUT_SECONDS = 30
"""API Gateway ends a request after this time."""
MIN_BIND_TIMEOUT_SECONDS = 2
"""bind responds one second before httpTimeout ends (fact 23)."""
MIN_GANG_TIMEOUT_SECONDS = 5
"""With less, members that the scheduler binds a second apart miss each other."""
GANG_BIND_SECONDS = 2.5
"""Of httpTimeout, what a member of a gang keeps: for the answer, for one call of the table, and for its Binding."""


def option_notes(
    choices: ExtenderOptions, *, with_password: bool, bounded_retries: bool, second: bool
) -> Iterator[str]:
    """`with_password`: the urlPrefix contains Basic credentials. `second`: the scheduler runs in a pod."""
    parts = urlsplit(choices.url_prefix)
    if second and is_loopback(parts.hostname or ""):
        yield "the address is loopback: a second scheduler reaches Berth there only if Berth runs in the same pod"
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        yield "plain http: anyone on the network path can read and change requests and responses" + (
            ", and read the password" if with_password else ""
        )
    if parts.scheme == "http" and choices.tls is not None:
        yield "the address begins with http://: certificates are not used; use an https:// address"
    if not parts.path.endswith("/scheduler"):
        yield "the address does not end in /scheduler, the path of Berth's verbs; `berth doctor --url` tests them"
    if with_password:
        yield (
            "the password is part of the urlPrefix: it is visible in a pod's events after any status but 200, and in "
            "the scheduler's log at -v=2 and above (fact 37); client certificates avoid this"
        )
    yield from _timeout_notes(choices)
    if choices.mode is Mode.FULL:
        yield (
            "full mode: the request limit of 6 MB allows about 300 to 600 nodes, and kube-scheduler's resource scores "
            "treat every node as empty (fact 13)"
        )
    yield from _configuration_notes(choices)
    if choices.ignorable:
        yield "ignorable: while Berth is down, pods are placed without its rules (fact 39)"
    if bounded_retries:
        # The longest back-off, and the second until kube-scheduler looks for those that are over.
        longest = GANG_BACKOFF_SECONDS + 1 if choices.managed.gangs else 9
        yield f"bounded retries: a rejected pod that now fits is retried after up to {longest} s, not 0.1 s (fact 44)"


def _timeout_notes(choices: ExtenderOptions) -> Iterator[str]:
    seconds = parse_duration(choices.http_timeout) or 0.0
    if seconds > API_GATEWAY_TIMEOUT_SECONDS:
        yield f"httpTimeout {choices.http_timeout}: API Gateway ends requests after {API_GATEWAY_TIMEOUT_SECONDS} s"
    if Verb.BIND in choices.verbs and seconds < MIN_BIND_TIMEOUT_SECONDS:
        yield f"httpTimeout {choices.http_timeout}: bind needs at least {MIN_BIND_TIMEOUT_SECONDS} s (fact 23)"


def _configuration_notes(choices: ExtenderOptions) -> Iterator[str]:
    if choices.managed.rules_about_pods and Verb.BIND not in choices.verbs:
        yield (
            "Berth does not bind: rules that depend on other pods are best effort for pods that are created at the "
            "same time; add bind to --verbs"
        )
    if choices.managed.gangs:
        waits = member_waits(parse_duration(choices.http_timeout) or 0.0)
        yield f"gangs: a member waits {waits:.1f} s in bind for the others; large gangs need a longer httpTimeout"


def member_waits(http_timeout: float) -> float:
    """Seconds that a member of a gang waits in bind for the others."""
    return max(0.0, http_timeout - GANG_BIND_SECONDS)


def is_loopback(host: str) -> bool:
    """Whether the host is a loopback address or `localhost`."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
