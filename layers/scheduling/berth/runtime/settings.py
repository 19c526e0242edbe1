"""The settings of a function from its environment variables: names of resources. BerthConfiguration has the behaviour.

Read once, when the environment starts. An error names the variable.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Self

from pydantic import AliasChoices, Field, model_validator

from berth.authentication.outcomes import Authentication
from berth.configuration.store import parsed
from berth.runtime.environment import SchedulerSettings, Settings, SettingsInvalid
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.evaluation.evaluation_cache import MAX_BYTES

__all__ = [
    "BindSettings",
    "CacheSettings",
    "ClusterSettings",
    "PolicySettings",
    "SettingsInvalid",
    "WatcherMode",
    "WatcherSettings",
]


class CacheSettings(Settings):
    """For every function that reads or writes the node cache."""

    cache_table: str = Field(alias="BERTH_CACHE_TABLE")


class LedgerSettings(Settings):
    """For functions that use counted resources. Empty: there is no ledger, and nothing is counted."""

    ledger_table: str = Field(default="", alias="BERTH_LEDGER_TABLE")


class PolicySettings(CacheSettings, LedgerSettings, SchedulerSettings):
    """For the functions that decide."""

    configuration: str = Field(default="", alias="BERTH_CONFIGURATION")
    """The BerthConfiguration that counts until one is applied, as JSON. Validated when it is needed: a verb whose
    environment does not start could not tell the scheduler why."""

    memory_size: int = Field(default=0, ge=0, alias="AWS_LAMBDA_FUNCTION_MEMORY_SIZE")
    """Of the function, in MB. 0: not a function of Lambda."""

    authentication: Authentication | None = Field(default=None, alias="BERTH_AUTHENTICATION")
    """How callers say who they are; None where `berth serve` asks nobody."""

    @property
    def remembered_bytes(self) -> int:
        """How much memory verdicts may keep of pods: an eighth of the function's."""
        return (self.memory_size << 20) // 8 if self.memory_size else MAX_BYTES

    @property
    def decision_seconds(self) -> float:
        """How long a decision may take: two fifths of the httpTimeout, and of the function's own timeout of 10 s.

        A cold start and the network need the rest.
        """
        return 0.4 * min(self.http_timeout, 10.0)

    @property
    def password_in_url(self) -> bool:
        """Whether the scheduler prints a password with every answer that is not 200 (facts 28 and 37)."""
        return self.authentication is Authentication.BASIC


def deployed(configuration: str) -> BerthConfiguration:
    """The value of BERTH_CONFIGURATION. Raises ConfigurationInvalid."""
    return parsed(configuration, "BERTH_CONFIGURATION") if configuration else BerthConfiguration()


class ClusterSettings(Settings):
    """For the functions that talk to a cluster, which is given in exactly one way.

    An EKS cluster is reached as the function's own role; `eks_region` is by default the function's. In a cluster
    (`in_cluster`) it is the pod's service account.
    """

    kubeconfig_secret: str = Field(default="", alias="BERTH_KUBECONFIG_SECRET")
    kubeconfig: Path | None = Field(default=None, alias="BERTH_KUBECONFIG")
    dump: Path | None = Field(default=None, alias="BERTH_CLUSTER_DUMP")
    in_cluster: bool = Field(default=False, alias="BERTH_IN_CLUSTER")
    eks_cluster: str = Field(default="", alias="BERTH_EKS_CLUSTER")
    eks_endpoint: str = Field(default="", alias="BERTH_EKS_ENDPOINT")
    eks_certificate_authority: str = Field(default="", alias="BERTH_EKS_CERTIFICATE_AUTHORITY")
    eks_region: str = Field(default="", validation_alias=AliasChoices("BERTH_EKS_REGION", "AWS_REGION"))

    @model_validator(mode="after")
    def _one_cluster(self) -> Self:
        given = [self.kubeconfig_secret, self.kubeconfig, self.dump, self.in_cluster, self.eks_cluster]
        if len([value for value in given if value]) != 1:
            raise ValueError(
                "set exactly one of BERTH_KUBECONFIG_SECRET, BERTH_EKS_CLUSTER, BERTH_KUBECONFIG, BERTH_IN_CLUSTER and "
                "BERTH_CLUSTER_DUMP"
            )
        return self


class BindSettings(ClusterSettings, SchedulerSettings, LedgerSettings):
    """Without a ledger bind needs no table at all. With one, what is counted stands in the configuration in force, and
    so in the cache table."""

    cache_table: str = Field(default="", alias="BERTH_CACHE_TABLE")
    configuration: str = Field(default="", alias="BERTH_CONFIGURATION")

    @model_validator(mode="after")
    def _knows_what_is_counted(self) -> Self:
        if self.ledger_table and not self.cache_table:
            raise ValueError("BERTH_LEDGER_TABLE needs BERTH_CACHE_TABLE")
        return self

    @property
    def policy(self) -> PolicySettings:
        """Where the configuration in force is found."""
        return PolicySettings.from_environ(
            {
                "BERTH_CACHE_TABLE": self.cache_table,
                "BERTH_LEDGER_TABLE": self.ledger_table,
                "BERTH_CONFIGURATION": self.configuration,
            }
        )


class WatcherMode(StrEnum):
    """CONTINUOUS: watch until the function's time is over. PERIODIC: list once, publish once."""

    CONTINUOUS = "continuous"
    PERIODIC = "periodic"


class WatcherSettings(PolicySettings, ClusterSettings):
    """The watcher reads a cluster and writes the cache.

    standby: a second one waits all the time for the leader to fail. warm_up: the functions that are kept up to date,
    by name or ARN, separated by commas.
    """

    mode: WatcherMode = Field(default=WatcherMode.CONTINUOUS, alias="BERTH_WATCHER_MODE")
    standby: bool = Field(default=False, alias="BERTH_WATCHER_STANDBY")
    warm_up: str = Field(default="", alias="BERTH_WARM_UP_FUNCTIONS")

    @property
    def warm_up_functions(self) -> tuple[str, ...]:
        """Each function's name or ARN."""
        return tuple(name.strip() for name in self.warm_up.split(",") if name.strip())
