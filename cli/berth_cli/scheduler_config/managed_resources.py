"""What of a BerthConfiguration concerns the `managedResources` of kube-scheduler's extenders."""

from __future__ import annotations

from dataclasses import dataclass

from berth.scheduling.configuration.document import BerthConfiguration

PLUGIN = "ManagedResources"


@dataclass(frozen=True, slots=True)
class ManagedResource:
    """A name by which containers ask for a counted resource."""

    name: str
    ignored_by_scheduler: bool = True


@dataclass(frozen=True, slots=True)
class Managed:
    """What is counted.

    only: the policy has nothing to say about pods that ask for none of these. by_annotation: a pod can ask for one of
    them with an annotation, of which kube-scheduler knows nothing.
    """

    resources: tuple[ManagedResource, ...] = ()
    only: bool = False
    by_annotation: bool = False


NOTHING_MANAGED = Managed()


def managed(configuration: BerthConfiguration) -> Managed:
    """Of all profiles of the document together. bind counts them whether a profile filters by them or not."""
    counted = configuration.managed_resources
    names = {configuration.profile, *configuration.profiles.values()}
    plugins = {each.name for name in names for each in configuration.composition(name).plugins}
    return Managed(
        tuple(
            ManagedResource(name, each.ignored_by_scheduler)
            for each in counted
            if each.requests is None
            for name in each.names
        ),
        only=plugins == {PLUGIN},
        by_annotation=any(each.requests is not None for each in counted),
    )
