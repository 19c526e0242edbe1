"""The settings of the functions that talk to a cluster: bind and the watcher."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from berth.pods import BERTH_SCHEDULERS
from berth.runtime.environment import (
    Settings,
    SettingsInvalid,
    boolean,
    names,
    one_of,
    variable,
)
from berth.runtime.settings import PolicySettings


@dataclass(frozen=True, kw_only=True)
class ClusterSettings(Settings):
    """The cluster, which is set in exactly one way. An EKS cluster is accessed with the function's role, by default in
    its region. `in_cluster`: access with the service account of the pod in which Berth runs.

    scheduler_names: the schedulers that call Berth. bind rejects pods of other schedulers, and the watcher does not
    check whether verbs decide about such pods.
    """

    kubeconfig_secret: str = variable("BERTH_KUBECONFIG_SECRET", default="")
    kubeconfig: Path | None = variable("BERTH_KUBECONFIG", read=Path, default=None)
    dump: Path | None = variable("BERTH_CLUSTER_DUMP", read=Path, default=None)
    in_cluster: bool = variable("BERTH_IN_CLUSTER", read=boolean, default=False)
    eks_cluster: str = variable("BERTH_EKS_CLUSTER", default="")
    eks_endpoint: str = variable("BERTH_EKS_ENDPOINT", default="")
    eks_certificate_authority: str = variable("BERTH_EKS_CERTIFICATE_AUTHORITY", default="")
    eks_region: str = variable("BERTH_EKS_REGION", "AWS_REGION", default="")
    scheduler_names: Collection[str] = variable("BERTH_SCHEDULER_NAMES", read=names, default=BERTH_SCHEDULERS)

    def __post_init__(self) -> None:
        super().__post_init__()
        given = [self.kubeconfig_secret, self.kubeconfig, self.dump, self.in_cluster, self.eks_cluster]
        if len([value for value in given if value]) != 1:
            raise SettingsInvalid(
                "set exactly one of BERTH_KUBECONFIG_SECRET, BERTH_EKS_CLUSTER, BERTH_KUBECONFIG, BERTH_IN_CLUSTER and "
                "BERTH_CLUSTER_DUMP"
            )


@dataclass(frozen=True, kw_only=True)
class BindSettings(ClusterSettings, PolicySettings):
    """Settings of bind. If there is a ledger, bind reads the configuration in force from the cache table, because it
    defines the counted resources. Otherwise bind does not use a table."""

    cache_table: str = variable("BERTH_CACHE_TABLE", default="")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ledger_table and not self.cache_table:
            raise SettingsInvalid("BERTH_LEDGER_TABLE needs BERTH_CACHE_TABLE")


class WatcherMode(StrEnum):
    """The watcher's mode. CONTINUOUS: watch until the function's time is over. PERIODIC: list once, publish once."""

    CONTINUOUS = "continuous"
    PERIODIC = "periodic"


@dataclass(frozen=True, kw_only=True)
class WatcherSettings(PolicySettings, ClusterSettings):
    """Settings of the watcher. standby: whether a second watcher always waits, in case the leader fails.
    warm_up_functions: names or ARNs of the functions that get warm-up events."""

    mode: WatcherMode = variable("BERTH_WATCHER_MODE", read=one_of(*WatcherMode), default=WatcherMode.CONTINUOUS)
    standby: bool = variable("BERTH_WATCHER_STANDBY", read=boolean, default=False)
    warm_up_functions: tuple[str, ...] = variable("BERTH_WARM_UP_FUNCTIONS", read=names, default=())
