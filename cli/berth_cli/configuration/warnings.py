"""Warnings about a valid document: parts that have no effect, or an effect that is probably unintended."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from berth.scheduling.configuration.document import BerthConfiguration, BindConfiguration, Decisions, WhenStale
from berth.scheduling.configuration.plugin_config import ALL_PLUGINS, plugin_factory
from berth.scheduling.feasibility import Unresolvable
from berth.scheduling.framework.plugin import ClusterScorePlugin, ScorePlugin
from berth.scheduling.framework.shipped_profiles import FULL, SHIPPED
from berth.scheduling.gangs.gang import SIZE
from berth.scheduling.managed_resources.configuration import NoAmount, capacity_of
from berth.scheduling.managed_resources.pools import CLUSTER
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.objects.pod_group import GANG_ANNOTATION, gang_names
from berth.scheduling.plugins.node_priority_label import NodePriorityLabel
from berth.scheduling.snapshot.changes import Changes
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.configuration.field_errors import field_path

MANAGED_RESOURCES = "ManagedResources"

KEPT_ON_STACK = frozenset((Decisions.OFF, Decisions.LOG, Decisions.TABLE))
_NEEDED_FOR_RECORDS = {
    Decisions.MEMORY: "berth serve",
    Decisions.FILE: "--decisions-file of berth serve",
    Decisions.TABLE: "--store dynamodb, or a stack",
}


@dataclass(frozen=True, slots=True)
class ConfigurationWarning:
    """A warning about one field. `path`: the field's path in the document."""

    path: tuple[str | int, ...]
    message: str

    @property
    def field(self) -> str:
        """The path as text."""
        return field_path(self.path)

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def configuration_warnings(configuration: BerthConfiguration) -> list[ConfigurationWarning]:
    """Return the warnings that need only the document."""
    return [
        *_counting(configuration),
        *_unused_arguments(configuration),
        *_definitions(configuration),
        *_rules_about_pods(configuration),
        *_unresolvable(configuration),
    ]


def serve_warnings(
    configuration: BerthConfiguration, *, schedulers: Collection[str], has_file: bool, has_table: bool
) -> Iterator[object]:
    """Return the warnings of `berth serve`. schedulers: the schedulers whose pods bind accepts. has_file: whether the
    server has a file for records of decisions. has_table: whether its tables are in DynamoDB."""
    yield from configuration_warnings(configuration)
    for name in configuration.profiles:
        if name not in schedulers:
            message = f"bind refuses the pods of this scheduler: give --scheduler-name {name}"
            yield ConfigurationWarning(("profiles", name), message)
    missing = {kind for kind, has in ((Decisions.FILE, has_file), (Decisions.TABLE, has_table)) if not has}
    yield from records_warnings(configuration, {*Decisions} - missing)
    if has_file and configuration.decisions is not Decisions.FILE:
        yield "--decisions-file: nothing is written there without decisions: file in the configuration"


def records_warnings(configuration: BerthConfiguration, kept: Collection[Decisions]) -> Iterator[ConfigurationWarning]:
    """Warn if records of decisions cannot be kept in the destination that the configuration sets. kept: the kinds of
    records that have a destination."""
    decisions = configuration.decisions
    if decisions is not None and decisions not in kept:
        needed = _NEEDED_FOR_RECORDS[decisions]
        yield ConfigurationWarning(("decisions",), f"nothing is recorded: {decisions} needs {needed}")


def source_warnings(configuration: BerthConfiguration, source: Path, *, live: bool) -> Iterator[ConfigurationWarning]:
    """Warn about names in the document that do not occur in the nodes and pods of a dump, or of the live cluster of a
    kubeconfig. Raises InvalidInput."""
    # Imported here: only --cluster and --kubeconfig need it.
    from berth_cli.sources.dump.cluster import read_cluster, read_dump, trim

    counting = configuration.counting
    if live:
        from berth_cli.sources.live import live_objects

        objects = live_objects(source, "", counting, time.time)
    else:
        objects = read_dump(source)
    cluster = read_cluster([trim(each, counting) for each in objects], str(source))
    yield from cluster_warnings(configuration, cluster.snapshot.with_changes(Changes(pods=cluster.pods)))


def cluster_warnings(configuration: BerthConfiguration, cluster: Snapshot) -> Iterator[ConfigurationWarning]:
    """Warn about names in the document that do not occur in the cluster's nodes and pods."""
    nodes = cluster.nodes.values()
    yield from _capacities(configuration, nodes)
    yield from _floating(configuration, cluster)
    yield from _priority_labels(configuration, nodes)
    if configuration.gangs.enabled:
        yield from _gangs(cluster.unbound.values())


def _capacities(configuration: BerthConfiguration, nodes: Collection[NodeInfo]) -> Iterator[ConfigurationWarning]:
    for index, resource in enumerate(configuration.managed_resources):
        capacities = [capacity_of(resource, node) for node in nodes]
        if not resource.is_floating and not any(not isinstance(each, NoAmount) and each for each in capacities):
            source = "capacity or devices" if resource.capacity or resource.devices else "its allocatable of that name"
            yield ConfigurationWarning(
                ("managedResources", index),
                f"none of {len(nodes)} nodes has capacity for {resource.name}, by {source}: "
                "pods that request it stay pending",
            )


def _floating(configuration: BerthConfiguration, cluster: Snapshot) -> Iterator[ConfigurationWarning]:
    nodes = cluster.nodes.values()
    pods = [*cluster.unbound.values(), *(pod for node in nodes for pod in node.pods)]
    for index, resource in enumerate(configuration.managed_resources):
        name, scope, found = resource.name, resource.scope, []
        if scope != CLUSTER and not any(scope in node.labels for node in nodes):
            found.append(f"none of {len(nodes)} nodes has the label {scope}: pods that request {name} stay pending")
        having = [node.name for node in nodes if node.allocatable.get(name)]
        if having:
            found.append(
                f"node {having[0]} has {name} in its allocatable, which does not count: capacity is a constant"
            )
        if resource.requests is None and any(pod.spec.requests.asked.get(name) for pod in pods):
            found.append(
                f"containers of pods request {name}, so autoscalers add no node for these pods (Karpenter: no instance "
                "type has enough resources); let them request it by an annotation: requests: {podAnnotation: …}"
            )
        for text in found if resource.is_floating else ():
            yield ConfigurationWarning(("managedResources", index), text)


def _priority_labels(configuration: BerthConfiguration, nodes: Collection[NodeInfo]) -> Iterator[ConfigurationWarning]:
    for name in _used_profiles(configuration):
        for plugin in configuration.build_profile(name).filters:
            if isinstance(plugin, NodePriorityLabel) and not any(plugin.label in node.labels for node in nodes):
                yield ConfigurationWarning(
                    ("profile",),
                    f"profile {name} rejects all {len(nodes)} nodes: none has the label {plugin.label}; "
                    "label nodes, or name another label in pluginConfig",
                )


def _gangs(pods: Iterable[Pod]) -> Iterator[ConfigurationWarning]:
    for pod in pods:
        name = f"pod {pod.namespace}/{pod.name}"
        if GANG_ANNOTATION in pod.labels and not gang_names(pod):
            yield ConfigurationWarning(
                ("gangs",), f"{name} has {GANG_ANNOTATION} as a label: Berth reads the annotation of that name"
            )
        elif SIZE in pod.annotations and not gang_names(pod):
            yield ConfigurationWarning(("gangs",), f"{name} has {SIZE} and names no gang: add {GANG_ANNOTATION}")


def _used_profiles(configuration: BerthConfiguration) -> dict[str, set[str]]:
    """Return the plugins of each profile that applies to some pods."""
    names = dict.fromkeys((configuration.profile, *configuration.profiles.values()))
    return {name: set(configuration.composition(name).plugins) for name in names}


def _counting(configuration: BerthConfiguration) -> Iterator[ConfigurationWarning]:
    for index, resource in enumerate(configuration.managed_resources):
        if not resource.ignored_by_scheduler and (resource.capacity or resource.devices):
            yield ConfigurationWarning(
                ("managedResources", index, "ignoredByScheduler"),
                f"false: kube-scheduler counts {resource.name} too, by the node's allocatable alone; "
                "on nodes without it there, no pod is placed",
            )
    for name, plugins in _used_profiles(configuration).items():
        if configuration.managed_resources and MANAGED_RESOURCES not in plugins:
            yield ConfigurationWarning(
                ("managedResources",),
                f"profile {name} has no plugin ManagedResources: filter passes nodes that have nothing left of "
                "managedResources, and bind refuses them; enable the plugin in a definition",
            )
        if not configuration.managed_resources and MANAGED_RESOURCES in plugins:
            where = ("definitions", name) if name in configuration.definitions else ("profile",)
            yield ConfigurationWarning(
                where, f"profile {name} counts managedResources, and there are none: every node passes; add some"
            )


def _unused_arguments(configuration: BerthConfiguration) -> Iterator[ConfigurationWarning]:
    used = _used_profiles(configuration)
    own = {
        name: {each.name for each in definition.plugin_config} for name, definition in configuration.definitions.items()
    }
    in_tree = set(SHIPPED[FULL].plugins)
    for index, config in enumerate(configuration.plugin_config):
        path = ("pluginConfig", index)
        profiles = [name for name, plugins in used.items() if config.name in plugins]
        if not profiles:
            reader = "only berth simulate uses these arguments" if config.name in in_tree else "these have no effect"
            yield ConfigurationWarning(path, f"no profile in use has the plugin {config.name}: {reader}")
        elif all(config.name in own.get(name, ()) for name in profiles):
            yield ConfigurationWarning(
                path, f"these arguments have no effect: each profile with {config.name} has arguments of its own"
            )


def _definitions(configuration: BerthConfiguration) -> Iterator[ConfigurationWarning]:
    used = _used_profiles(configuration)
    for name, definition in configuration.definitions.items():
        path = ("definitions", name)
        if name not in used:
            yield ConfigurationWarning(path, "no scheduler uses this profile: neither profile nor profiles names it")
        plugins = set(definition.composition().plugins)
        for index, config in enumerate(definition.plugin_config):
            if config.name not in plugins:
                yield ConfigurationWarning(
                    (*path, "pluginConfig", index), f"this profile has no plugin {config.name}: these have no effect"
                )
        for index, enabled in enumerate(definition.plugins.enabled):
            if "weight" in enabled.model_fields_set and not _scores(enabled.name):
                yield ConfigurationWarning(
                    (*path, "plugins", "enabled", index, "weight"),
                    f"{enabled.name} only filters: a weight has no effect",
                )
        extended = set() if definition.extends is None else set(SHIPPED[definition.extends].plugins)
        for index, disabled in enumerate(definition.plugins.disabled):
            if disabled.name not in (*extended, ALL_PLUGINS):
                yield ConfigurationWarning(
                    (*path, "plugins", "disabled", index),
                    f"{definition.extends or 'the profile'} has no plugin {disabled.name}: nothing is disabled",
                )


def _scores(plugin: str) -> bool:
    constructor = plugin_factory(plugin).plugin
    return not isinstance(constructor, type) or issubclass(constructor, ScorePlugin | ClusterScorePlugin)


def _unresolvable(configuration: BerthConfiguration) -> Iterator[ConfigurationWarning]:
    if configuration.unresolvable is Unresolvable.AS_PLUGINS_SAY:
        yield ConfigurationWarning(
            ("unresolvable",),
            "kube-scheduler 1.34 to 1.37 retries a pending pod without end: docs/concepts/preemption.md",
        )


def _rules_about_pods(configuration: BerthConfiguration) -> Iterator[ConfigurationWarning]:
    """Warn if rules depend on other pods: they need Berth's bind, which the scheduler might not call."""
    rules = {name: configuration.build_profile(name).for_bind().filters for name in _used_profiles(configuration)}
    for name, filters in rules.items():
        if filters:
            schedulers = [("profiles", scheduler) for scheduler, used in configuration.profiles.items() if used == name]
            where = ("profile",) if name == configuration.profile else schedulers[0]
            plugins = ", ".join(each.name for each in filters)
            yield ConfigurationWarning(
                where,
                f"profile {name} has rules that depend on other pods ({plugins}): for pods that are created at the "
                "same time they are best effort, unless Berth binds every pod (bindVerb): "
                "docs/concepts/rules-about-pods.md",
            )
    if not any(rules.values()):
        return
    if configuration.bind != BindConfiguration():
        yield ConfigurationWarning(
            ("bind",), "bind does not cover all pods: rules that depend on other pods are best effort"
        )
    if configuration.node_cache.when_stale is WhenStale.PASS:
        yield ConfigurationWarning(
            ("nodeCache", "whenStale"),
            "while the cache is stale, rules that depend on other pods are best effort; fail keeps them",
        )
