"""Counted resources: does kube-scheduler leave them to Berth, and does it send Berth the right pods for them."""

from __future__ import annotations

from collections.abc import Iterator

from berth_cli.doctor.findings import CheckName, Finding, failed, ok, warning
from berth_cli.doctor.scheduler.scheduler_side import SchedulerSide
from berth_cli.scheduler_config.managed_resources import Managed

CHECK = CheckName.MANAGED_RESOURCES
REMEDY = "take the extenders that `berth scheduler-config --config FILE` prints"


def managed_resources(side: SchedulerSide, managed: Managed) -> Iterator[Finding]:
    """`managed`: what Berth's configuration counts."""
    listed = {each.name: each.ignored_by_scheduler for entry in side.ours for each in entry.managed_resources}
    # One that is ignored for an extender's sake takes the place of what the profiles ignore (fact 46).
    by_profile = set() if any(listed.values()) else _ignored_by_profiles(side, managed)
    found = [*_names(listed), *_missing(listed, managed, by_profile), *_gates(side, managed)]
    if found:
        yield from found
    else:
        told = ", ".join(sorted(listed)) or "none"
        yield ok(CHECK, told if managed.resources or listed else "none, as in Berth's configuration")


def _names(listed: dict[str, bool]) -> Iterator[Finding]:
    for name in listed:
        domain, slash, _ = name.partition("/")
        if not slash or not domain or domain == "kubernetes.io" or domain.endswith(".kubernetes.io"):
            yield failed(
                CHECK,
                f"{name} has no domain of its own: kube-scheduler does not start (fact 46)",
                "rename the resource",
            )


def _ignored_by_profiles(side: SchedulerSide, managed: Managed) -> set[str]:
    names = {each.name for each in managed.resources}
    return {name for name in names if all(profile.ignores(name) for profile in side.document.profiles)}


def _missing(listed: dict[str, bool], managed: Managed, by_profile: set[str]) -> Iterator[Finding]:
    for resource in managed.resources:
        if not resource.ignored_by_scheduler or listed.get(resource.name) or resource.name in by_profile:
            continue
        yield warning(
            CHECK,
            f"{resource.name} is counted by Berth and not ignored by the scheduler: nodes that do not have it in their "
            "allocatable take no pod that asks for it (fact 38)",
            REMEDY,
        )
    for name in sorted(listed.keys() - {each.name for each in managed.resources}):
        if listed[name]:
            yield failed(CHECK, f"{name} is ignored by the scheduler, and Berth does not count it: nobody does", REMEDY)


def _gates(side: SchedulerSide, managed: Managed) -> Iterator[Finding]:
    """An entry with managedResources is called for pods that ask for one of them, and for no other (fact 7)."""
    everybody = [each for each in side.ours if not each.managed_resources]
    sees_all = any(each.filter_verb or each.prioritize_verb for each in everybody)
    gated = any(each.filter_verb or each.prioritize_verb for each in side.ours if each.managed_resources)
    if gated and not sees_all and not managed.only:
        yield failed(
            CHECK,
            "Berth is asked only about pods that request one of them, and its policy is for all pods (fact 7)",
            REMEDY,
        )
    if managed.by_annotation and side.binder is not None and side.binder.managed_resources:
        yield failed(CHECK, "a request by annotation does not reach bind, which counts it (fact 7)", REMEDY)
    if (managed.resources or managed.by_annotation) and side.binder is None:
        yield failed(CHECK, "Berth does not bind, so nothing is counted", REMEDY)
    if side.binder is not None and side.binder.managed_resources:
        bound = {each.name for each in side.binder.managed_resources}
        for resource in managed.resources:
            if resource.name not in bound:
                yield failed(
                    CHECK, f"pods that ask for {resource.name} alone are not bound by Berth, which counts it", REMEDY
                )
