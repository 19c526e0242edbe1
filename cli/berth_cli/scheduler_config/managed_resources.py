"""The counted resources of a BerthConfiguration, for the `managedResources` of kube-scheduler's extenders."""

from __future__ import annotations

from dataclasses import dataclass

from berth.scheduling.configuration.document import BerthConfiguration

PLUGIN = "ManagedResources"


@dataclass(frozen=True, slots=True)
class ManagedResource:
    """A resource name with which containers request a counted resource."""

    name: str
    ignored_by_scheduler: bool = True


@dataclass(frozen=True, slots=True)
class ManagedResources:
    """All counted resources.

    `counts_only`: the policy has no rule for pods that request none of them. `by_annotation`: pods can request one with
    an annotation, which kube-scheduler does not see. `rules_about_pods`: a rule depends on other pods, and holds for
    pods that are created at the same time if Berth binds all of them. `gangs`: they are enabled, and any pod may be a
    member.
    """

    resources: tuple[ManagedResource, ...] = ()
    counts_only: bool = False
    by_annotation: bool = False
    rules_about_pods: bool = False
    gangs: bool = False

    @property
    def bind_needs_every_pod(self) -> bool:
        """Whether bind must also get pods that request none of them by name."""
        return self.by_annotation or self.rules_about_pods or self.gangs


NO_MANAGED_RESOURCES = ManagedResources()


def managed_resources_of(configuration: BerthConfiguration) -> ManagedResources:
    """The counted resources of all profiles. bind counts them even if a profile does not filter by them."""
    counted = configuration.managed_resources
    names = {configuration.profile, *configuration.profiles.values()}
    plugins = {each.name for name in names for each in configuration.composition(name).plugins}
    return ManagedResources(
        tuple(
            ManagedResource(name, each.ignored_by_scheduler)
            for each in counted
            if each.requests is None
            for name in each.names
        ),
        counts_only=plugins == {PLUGIN} and not configuration.gangs.enabled,
        by_annotation=any(each.requests is not None for each in counted),
        rules_about_pods=any(configuration.build_profile(name).for_bind().filters for name in names),
        gangs=configuration.gangs.enabled,
    )
