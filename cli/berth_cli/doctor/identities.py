"""As whom the cluster is asked: whoever runs the command, the watcher, and bind."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import boto3

from berth.cluster.api_server import kubeconfig
from berth.cluster.api_server.client import ApiServer
from berth.nodecache.feed.cluster import ClusterUnavailable
from berth_cli.deployed_stack import LIMITS, DeployedStack
from berth_cli.doctor.access.aws_account import not_told_here
from berth_cli.doctor.access.cluster import ClusterAccess
from berth_cli.doctor.access.kubernetes_cluster import KubernetesAccess, Subject, SubjectAccess, subject
from berth_cli.doctor.findings import CheckName, failed, skipped
from berth_cli.doctor.options import Attempts, Named

if TYPE_CHECKING:
    from kubernetes.client import Configuration


@dataclass(frozen=True, slots=True)
class Identity:
    """As whom a function calls the API server, in the words of command line and template."""

    kubeconfig: Callable[[Named], Path | None]
    user: Callable[[Named], str | None]
    parameter: str
    option: str


WATCHER = Identity(
    lambda named: named.watcher_kubeconfig, lambda named: named.watcher_user, "WatcherKubeconfigSecretArn", "--watcher"
)
BINDER = Identity(
    lambda named: named.binder_kubeconfig, lambda named: named.binder_user, "BinderKubeconfigSecretArn", "--binder"
)


def access(attempts: Attempts, named: Named, path: Path | None, of: Subject | None = None) -> ClusterAccess | None:
    if path is None:
        return None
    return attempts.attempt(
        CheckName.KUBECONFIG,
        "give one that kubectl takes",
        lambda: _kubernetes(kubeconfig.from_file(path), named.call_timeout, of),
    )


def identity(attempts: Attempts, named: Named, stack: DeployedStack | None, which: Identity) -> ClusterAccess | None:
    """Its own credentials, what an administrator can ask about it, or the stack's secret. Without a stack it is
    `berth serve`, which has one kubeconfig for all."""
    own, user = which.kubeconfig(named), which.user(named)
    if own is not None:
        return access(attempts, named, own)
    if user is not None:
        return access(attempts, named, named.kubeconfig, of=subject(user))
    if stack is not None:
        return _of_secret(attempts, named, stack, which)
    return access(attempts, named, named.kubeconfig)


def _of_secret(attempts: Attempts, named: Named, stack: DeployedStack, which: Identity) -> ClusterAccess | None:
    """The kubeconfig that the stack's function uses, if whoever asks may read it."""
    secret = stack.parameters.get(which.parameter, "")
    if not secret:
        return None
    check, options = CheckName.KUBECONFIG_SECRET, f"{which.option}-kubeconfig, or {which.option}-user with --kubeconfig"
    try:
        client = boto3.client("secretsmanager", region_name=stack.region, config=LIMITS)
        return _kubernetes(kubeconfig.from_secret(client, secret), named.call_timeout)
    except ClusterUnavailable as error:
        if not_told_here(error.__cause__):
            attempts.findings.append(skipped(check, str(error), f"give {options}"))
        else:
            told = f"{error}: the function cannot use it either"
            attempts.findings.append(failed(check, told, "put a kubeconfig with a token or certificates into it"))
        return None


def _kubernetes(configuration: Configuration, timeout: float, of: Subject | None = None) -> ClusterAccess:
    api = ApiServer(configuration, time.monotonic)
    return KubernetesAccess(api, timeout) if of is None else SubjectAccess(api, timeout, of)
