"""KubeSchedulerConfiguration as kube-scheduler reads it: exact names, exact types, and its defaults."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from berth_cli.scheduler_config.kube_scheduler_configuration import parse_duration

# kube-scheduler refuses what it does not know; of these parts everything is known here.
_CLOSED = ConfigDict(extra="forbid", frozen=True, strict=True)
_OPEN = ConfigDict(extra="ignore", frozen=True, strict=True)


class NotReadable(Exception):
    """kube-scheduler would refuse it. One line per field."""


class TLSConfig(BaseModel):
    """An extender's `tlsConfig`. Data is base64, and goes before files."""

    model_config = _CLOSED
    insecure: bool = False
    server_name: str = Field(default="", alias="serverName")
    cert_file: str = Field(default="", alias="certFile")
    key_file: str = Field(default="", alias="keyFile")
    ca_file: str = Field(default="", alias="caFile")
    cert_data: str = Field(default="", alias="certData", repr=False)
    key_data: str = Field(default="", alias="keyData", repr=False)
    ca_data: str = Field(default="", alias="caData", repr=False)

    @property
    def has_ca(self) -> bool:
        return bool(self.ca_file or self.ca_data)

    @property
    def has_certificate(self) -> bool:
        return bool(self.cert_file or self.cert_data)

    @property
    def has_key(self) -> bool:
        return bool(self.key_file or self.key_data)

    @property
    def has_half(self) -> bool:
        """A certificate without its key, or the other way round."""
        return self.has_certificate is not self.has_key


class ManagedResourceEntry(BaseModel):
    """One of `managedResources`."""

    model_config = _CLOSED
    name: str
    ignored_by_scheduler: bool = Field(default=False, alias="ignoredByScheduler")


class Extender(BaseModel):
    """One of `extenders`."""

    model_config = _CLOSED
    url_prefix: str = Field(alias="urlPrefix", repr=False)
    filter_verb: str = Field(default="", alias="filterVerb")
    prioritize_verb: str = Field(default="", alias="prioritizeVerb")
    bind_verb: str = Field(default="", alias="bindVerb")
    preempt_verb: str = Field(default="", alias="preemptVerb")
    weight: int = 0
    enable_https: bool = Field(default=False, alias="enableHTTPS")
    tls_config: TLSConfig | None = Field(default=None, alias="tlsConfig")
    http_timeout: str = Field(default="0s", alias="httpTimeout")
    node_cache_capable: bool = Field(default=False, alias="nodeCacheCapable")
    managed_resources: tuple[ManagedResourceEntry, ...] = Field(default=(), alias="managedResources", strict=False)
    ignorable: bool = False

    @property
    def timeout(self) -> float:
        """Seconds for a call; 0 stands for 5 (fact 5)."""
        return parse_duration(self.http_timeout) or 5.0

    @property
    def verbs(self) -> dict[str, str]:
        """Field to verb, of those that are called."""
        named = {
            "filterVerb": self.filter_verb,
            "prioritizeVerb": self.prioritize_verb,
            "bindVerb": self.bind_verb,
            "preemptVerb": self.preempt_verb,
        }
        return {field: verb for field, verb in named.items() if verb}


class NodeResourcesFitArgs(BaseModel):
    """Which resources the scheduler itself does not look at."""

    model_config = _OPEN
    resources: frozenset[str] = Field(default=frozenset(), alias="ignoredResources", strict=False)
    groups: frozenset[str] = Field(default=frozenset(), alias="ignoredResourceGroups", strict=False)

    def ignore(self, resource: str) -> bool:
        return resource in self.resources or resource.partition("/")[0] in self.groups


class PluginConfig(BaseModel):
    """Arguments of a plugin; read for one of them only."""

    model_config = _OPEN
    name: str
    args: dict[str, object] = Field(default_factory=dict)


class Profile(BaseModel):
    """One of `profiles`."""

    model_config = _OPEN
    scheduler_name: str = Field(default="default-scheduler", alias="schedulerName")
    percentage_of_nodes_to_score: int | None = Field(default=None, alias="percentageOfNodesToScore")
    plugin_config: tuple[PluginConfig, ...] = Field(default=(), alias="pluginConfig", strict=False)

    def ignores(self, resource: str) -> bool:
        """By its own arguments, which `ignoredByScheduler` of any extender replaces (fact 46)."""
        found = [each.args for each in self.plugin_config if each.name == "NodeResourcesFit"]
        return any(NodeResourcesFitArgs.model_validate(args).ignore(resource) for args in found)


class LeaderElection(BaseModel):
    """Who of several processes schedules."""

    model_config = _OPEN
    leader_elect: bool = Field(default=True, alias="leaderElect")
    resource_name: str = Field(default="kube-scheduler", alias="resourceName")
    resource_namespace: str = Field(default="kube-system", alias="resourceNamespace")


class SchedulerDocument(BaseModel):
    """The parts that concern an extender."""

    model_config = _OPEN
    api_version: Literal["kubescheduler.config.k8s.io/v1"] = Field(alias="apiVersion")
    kind: Literal["KubeSchedulerConfiguration"]
    leader_election: LeaderElection = Field(default=LeaderElection(), alias="leaderElection")
    percentage_of_nodes_to_score: int | None = Field(default=None, alias="percentageOfNodesToScore")
    profiles: tuple[Profile, ...] = Field(default=(Profile(),), strict=False)
    extenders: tuple[Extender, ...] = Field(default=(), strict=False)


def read(document: object) -> SchedulerDocument:
    """Raises NotReadable."""
    try:
        return SchedulerDocument.model_validate(document)
    except ValidationError as error:
        lines = [f"{'.'.join(map(str, each['loc'])) or 'document'}: {each['msg']}" for each in error.errors()]
        raise NotReadable("; ".join(lines)) from None
