"""What is measured: an address with its credentials, the names of a cluster's nodes and a pod."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import yaml

from berth.nodecache.feed.cluster import ClusterUnavailable
from berth_cli.doctor.access.endpoint import Endpoint, ServerCertificate
from berth_cli.doctor.inputs import Inputs, read_inputs
from berth_cli.doctor.options import Options

UNKNOWN_NODE = "berth-bench"


class TargetUnavailable(Exception):
    """The address, the credentials, the cluster or the pod cannot be used. The message names cause and remedy."""


@dataclass(frozen=True, slots=True)
class Target:
    """`node_names`: of each request."""

    endpoint: Endpoint
    node_names: tuple[str, ...]

    def connection_ms(self) -> float | None:
        """Milliseconds of a new TLS connection; None for plain http. Raises TargetUnavailable."""
        started = time.perf_counter()
        certificate = self.endpoint.certificate()
        seconds = time.perf_counter() - started
        if certificate is None:
            return None
        if not isinstance(certificate, ServerCertificate):
            raise TargetUnavailable(f"{self.endpoint.address}: {certificate.cause}")
        if certificate.problem is not None:
            raise TargetUnavailable(
                f"{self.endpoint.address}: the certificate {certificate.problem}; give its CA with --ca"
            )
        return 1000 * seconds


def open_target(options: Options, nodes: int | None) -> Target:
    """Read stack, credentials and node names. `nodes`: at most so many. Raises TargetUnavailable, InvalidAddress."""
    inputs = read_inputs(options)
    if inputs.findings:
        finding = inputs.findings[0]
        raise TargetUnavailable("; ".join(filter(None, (finding.message, finding.remedy))))
    if inputs.endpoint is None:
        raise TargetUnavailable("no address: give --url URL")
    return Target(inputs.endpoint, _node_names(inputs, nodes))


def _node_names(inputs: Inputs, nodes: int | None) -> tuple[str, ...]:
    if inputs.reader is None:
        return (UNKNOWN_NODE,)
    try:
        names = tuple(inputs.reader.node_names()[:nodes])
    except ClusterUnavailable as error:
        raise TargetUnavailable(str(error)) from error
    if not names:
        raise TargetUnavailable("the cluster has no nodes: leave --kubeconfig out, or add a node")
    return names


def read_pod(path: Path | None) -> Mapping[str, object]:
    """The pod of the requests, under a name and UID of no pod. Raises TargetUnavailable."""
    pod: object = {"spec": {"containers": [{"name": "bench", "resources": {}}]}}
    if path is not None:
        try:
            pod = yaml.safe_load(path.read_text())
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise TargetUnavailable(f"{path}: not a pod manifest: {' '.join(str(error).split())}") from error
    if not isinstance(pod, dict) or not isinstance(pod.get("spec"), dict):
        raise TargetUnavailable(f"{path}: not a pod manifest: it has no spec; give a file with one Pod")
    metadata = pod.get("metadata")
    own = {"namespace": "default", **(metadata if isinstance(metadata, dict) else {})}
    return {**pod, "metadata": {**own, "name": "berth-bench", "uid": str(uuid4())}, "status": {}}
