"""The users as which the cluster is accessed: the caller, the watcher and bind."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import boto3

from berth.cluster.api_server import kubeconfig
from berth.cluster.api_server.access import Server
from berth.cluster.api_server.client import ApiServer
from berth.nodecache.feed.cluster import ClusterUnavailable
from berth_cli.deployed_stack import CLIENT_CONFIG, DeployedStack
from berth_cli.doctor.access.aws_account import is_inspection_denied
from berth_cli.doctor.access.cluster import ClusterAccess, Subject
from berth_cli.doctor.access.kubernetes_cluster import KubernetesAccess, SubjectAccess, parse_subject
from berth_cli.doctor.findings import CheckName, failed, skipped
from berth_cli.doctor.options import InputErrors, Options


@dataclass(frozen=True, slots=True)
class Identity:
    """The user of a function, by option and by template parameter."""

    kubeconfig: Callable[[Options], Path | None]
    user: Callable[[Options], str | None]
    parameter: str
    option: str


WATCHER = Identity(
    lambda options: options.watcher_kubeconfig,
    lambda options: options.watcher_user,
    "WatcherKubeconfigSecretArn",
    "--watcher",
)
BINDER = Identity(
    lambda options: options.binder_kubeconfig,
    lambda options: options.binder_user,
    "BinderKubeconfigSecretArn",
    "--binder",
)


def access(
    errors: InputErrors, options: Options, path: Path | None, subject: Subject | None = None
) -> ClusterAccess | None:
    if path is None:
        return None
    return errors.read(
        CheckName.KUBECONFIG,
        "give a kubeconfig that kubectl accepts",
        lambda: _kubernetes(kubeconfig.from_file(path), options.call_timeout, subject),
    )


def identity(
    errors: InputErrors,
    options: Options,
    stack: DeployedStack | None,
    which: Identity,
    *,
    is_running: bool = False,
) -> ClusterAccess | None:
    """The function's own kubeconfig, reviews for its user name, or the stack's secret, in this order.

    Without a stack it is `berth serve`: it says as whom it runs (is_running), or will have the caller's kubeconfig.
    """
    own, user = which.kubeconfig(options), which.user(options)
    if own is not None:
        return access(errors, options, own)
    if user is not None:
        return access(errors, options, options.kubeconfig, subject=parse_subject(user))
    if stack is not None:
        return _secret_access(errors, options, stack, which)
    return None if is_running else access(errors, options, options.kubeconfig)


def _secret_access(
    errors: InputErrors, options: Options, stack: DeployedStack, which: Identity
) -> ClusterAccess | None:
    """The kubeconfig in the stack's secret, if the caller may read it."""
    secret = stack.parameters.get(which.parameter, "")
    if not secret:
        return None
    check, alternatives = (
        CheckName.KUBECONFIG_SECRET,
        f"{which.option}-kubeconfig, or {which.option}-user with --kubeconfig",
    )
    try:
        client = boto3.client("secretsmanager", region_name=stack.region, config=CLIENT_CONFIG)
        return _kubernetes(kubeconfig.from_secret(client, secret), options.call_timeout)
    except ClusterUnavailable as error:
        if is_inspection_denied(error.__cause__):
            errors.findings.append(skipped(check, str(error), f"give {alternatives}"))
        else:
            message = f"{error}: the function cannot use it either"
            errors.findings.append(failed(check, message, "put a kubeconfig with a token or certificates into it"))
        return None


def _kubernetes(server: Server, timeout: float, subject: Subject | None = None) -> ClusterAccess:
    api = ApiServer(server, time.monotonic)
    return KubernetesAccess(api, timeout) if subject is None else SubjectAccess(api, timeout, subject)
