"""KubeSchedulerConfiguration as kube-scheduler reads it: exact field names and types, and its defaults."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from berth_cli.scheduler_config.kube_scheduler_configuration import parse_duration

# kube-scheduler rejects unknown fields. The strict models list all fields of their part.
_STRICT = ConfigDict(extra="forbid", frozen=True, strict=True)
_LENIENT = ConfigDict(extra="ignore", frozen=True, strict=True)


class InvalidSchedulerConfiguration(Exception):
    """kube-scheduler would reject the document. One line per field."""


class TLSConfig(BaseModel):
    """An extender's `tlsConfig`. Data is base64 and overrides files."""

    model_config = _STRICT
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
        """A certificate without its key, or a key without its certificate."""
        return self.has_certificate is not self.has_key


class ManagedResourceEntry(BaseModel):
    """An item of `managedResources`."""

    model_config = _STRICT
    name: str
    ignored_by_scheduler: bool = Field(default=False, alias="ignoredByScheduler")


class Extender(BaseModel):
    """An item of `extenders`."""

    model_config = _STRICT
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
        """Seconds for a call; 0 means 5 (fact 5)."""
        return parse_duration(self.http_timeout) or 5.0

    @property
    def verbs(self) -> dict[str, str]:
        """The configured verbs by field name."""
        named = {
            "filterVerb": self.filter_verb,
            "prioritizeVerb": self.prioritize_verb,
            "bindVerb": self.bind_verb,
            "preemptVerb": self.preempt_verb,
        }
        return {field: verb for field, verb in named.items() if verb}


class NodeResourcesFitArgs(BaseModel):
    """The resources that NodeResourcesFit ignores."""

    model_config = _LENIENT
    resources: frozenset[str] = Field(default=frozenset(), alias="ignoredResources", strict=False)
    groups: frozenset[str] = Field(default=frozenset(), alias="ignoredResourceGroups", strict=False)

    def ignore(self, resource: str) -> bool:
        return resource in self.resources or resource.partition("/")[0] in self.groups


class PluginConfig(BaseModel):
    """Arguments of a plugin; only those of NodeResourcesFit are used."""

    model_config = _LENIENT
    name: str
    args: dict[str, object] = Field(default_factory=dict)


class Profile(BaseModel):
    """An item of `profiles`."""

    model_config = _LENIENT
    scheduler_name: str = Field(default="default-scheduler", alias="schedulerName")
    percentage_of_nodes_to_score: int | None = Field(default=None, alias="percentageOfNodesToScore")
    plugin_config: tuple[PluginConfig, ...] = Field(default=(), alias="pluginConfig", strict=False)

    def ignores(self, resource: str) -> bool:
        """Whether NodeResourcesFit ignores the resource; `ignoredByScheduler` of an extender overrides it (fact 46)."""
        return any(args.ignore(resource) for args in self._node_resources_fit())

    def ignored_names(self) -> frozenset[str]:
        """The resources that NodeResourcesFit ignores by name."""
        return frozenset(name for args in self._node_resources_fit() for name in args.resources)

    def _node_resources_fit(self) -> list[NodeResourcesFitArgs]:
        found = [each.args for each in self.plugin_config if each.name == "NodeResourcesFit"]
        return [NodeResourcesFitArgs.model_validate(args) for args in found]


class LeaderElection(BaseModel):
    """Leader election between the scheduler's processes."""

    model_config = _LENIENT
    leader_elect: bool = Field(default=True, alias="leaderElect")
    resource_name: str = Field(default="kube-scheduler", alias="resourceName")
    resource_namespace: str = Field(default="kube-system", alias="resourceNamespace")


class SchedulerConfiguration(BaseModel):
    """The fields that affect an extender."""

    model_config = _LENIENT
    api_version: Literal["kubescheduler.config.k8s.io/v1"] = Field(alias="apiVersion")
    kind: Literal["KubeSchedulerConfiguration"]
    leader_election: LeaderElection = Field(default=LeaderElection(), alias="leaderElection")
    percentage_of_nodes_to_score: int | None = Field(default=None, alias="percentageOfNodesToScore")
    pod_max_backoff_seconds: int = Field(default=10, alias="podMaxBackoffSeconds")
    profiles: tuple[Profile, ...] = Field(default=(Profile(),), strict=False)
    extenders: tuple[Extender, ...] = Field(default=(), strict=False)


def parse_scheduler_configuration(document: object) -> SchedulerConfiguration:
    """Validate the document. Raises InvalidSchedulerConfiguration."""
    try:
        return SchedulerConfiguration.model_validate(document)
    except ValidationError as error:
        lines = [f"{'.'.join(map(str, each['loc'])) or 'document'}: {each['msg']}" for each in error.errors()]
        raise InvalidSchedulerConfiguration("; ".join(lines)) from None
