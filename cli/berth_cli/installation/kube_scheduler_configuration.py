"""Builds the KubeSchedulerConfiguration, which is kube-scheduler's --config file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import SplitResult, urlsplit

import yaml

Entry = dict[str, object]
Document = Mapping[str, object]

FIELD_COMMENTS: Mapping[str, str] = {
    "resourceName": "Its own lock: with the default name it would wait forever for the cluster's scheduler.",
    "percentageOfNodesToScore": (
        "All nodes: by default the extender sees only some nodes of a cluster with 100 or more (facts 11 and 47)."
    ),
    "podMaxBackoffSeconds": "A gang that fits again waits for the end of its members' back-off, 10 s by default.",
    "managedResources": "Counted by the extender. ignoredByScheduler: not counted by kube-scheduler (fact 38).",
    "ignorable": "false: while Berth is down, its pods wait. true: they are placed without its rules (fact 39).",
}
"""YAML comments by field. The fact numbers refer to docs/reference/extender-contract.md."""


def scheduler_configuration(
    schedulers: Sequence[str],
    extenders: Sequence[Entry],
    *,
    lock: tuple[str, str] | None = None,
    kubeconfig: str = "",
    gangs: bool = False,
) -> dict[str, object]:
    """Build the document. `lock`: namespace and name of the leader's Lease; None for kube-scheduler's default.
    `kubeconfig`: a path on the scheduler's machine; empty for the pod's service account. `gangs`: whether gangs are
    enabled.
    """
    document: dict[str, object] = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
    }
    if kubeconfig:
        document["clientConnection"] = {"kubeconfig": kubeconfig}
    if lock is not None:
        document["leaderElection"] = {
            "leaderElect": True,
            "resourceName": lock[1],
            "resourceNamespace": lock[0],
        }
    if gangs:
        document["podMaxBackoffSeconds"] = GANG_BACKOFF_SECONDS
    return document | {
        "percentageOfNodesToScore": 100,
        "profiles": [{"schedulerName": name} for name in schedulers],
        "extenders": list(extenders),
    }


GANG_BACKOFF_SECONDS = 3
"""The maximum back-off of a pod in seconds if gangs are enabled. With bounded retries, a gang that fits again is
retried when its members' back-off ends; kube-scheduler checks for this once a second, so the gang runs within 5 s."""

BOUNDED_RETRIES = "--feature-gates=SchedulerPopFromBackoffQ=false"
"""With this flag, rejected pods wait until the end of their back-off even if the queue is idle (fact 44). Gangs need
it."""


def scheduler_flags(*, with_password: bool, gangs: bool) -> list[str]:
    """Return the flags other than --config. At -v=2 the start-up log contains the urlPrefix with its password (fact
    37)."""
    verbosity = "-v=1" if with_password else "-v=2"
    return [verbosity, BOUNDED_RETRIES] if gangs else [verbosity]


class InvalidAddress(ValueError):
    """The URL is not a valid urlPrefix. The message states the reason."""


def parse_address(url: str) -> SplitResult:
    """Parse an http or https address without credentials. Raises InvalidAddress."""
    try:
        parts = urlsplit(url)
        port = parts.port  # raises ValueError for an invalid port
    except ValueError as error:
        raise InvalidAddress(f"{url}: {error}") from error
    if "@" in parts.netloc:
        raise InvalidAddress("the address contains credentials; leave them out: --stack finds them")
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise InvalidAddress(f"{url} is not an address such as https://HOST/scheduler")
    if parts.query or parts.fragment:
        raise InvalidAddress(f"{url} has a query or a fragment, which urlPrefix does not allow")
    return parts


class _Dumper(yaml.SafeDumper):
    """Uses block style for multi-line strings, and indents lists under their key."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        return super().increase_indent(flow, False)

    def ignore_aliases(self, data: object) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def yaml_text(document: Document, comments: Mapping[str, str] | None = None) -> str:
    """Format the document as YAML. `comments`: by key; each comment is above the first line with that key."""
    text = yaml.dump(dict(document), Dumper=_Dumper, sort_keys=False, width=110, allow_unicode=True)
    remaining = dict(comments or {})
    lines = []
    for line in text.splitlines():
        bare = line.lstrip(" -")
        comment = remaining.pop(bare.partition(":")[0], None)
        if comment is not None:
            lines.append(f"{' ' * (len(line) - len(bare))}# {comment}")
        lines.append(line)
    return "\n".join(lines) + "\n"
