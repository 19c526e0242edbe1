"""Checks counted resources: whether kube-scheduler ignores them, and sends Berth the pods that request them."""

from __future__ import annotations

from collections.abc import Iterator

from berth_cli.installation.doctor.findings import CheckName, Finding, failed, ok, warning
from berth_cli.installation.doctor.scheduler_configuration import SchedulerSide
from berth_cli.installation.extenders import ManagedResources

CHECK = CheckName.MANAGED_RESOURCES
REMEDY = "use the extenders that `berth scheduler-config --config FILE` prints"


def check_managed_resources(side: SchedulerSide, managed: ManagedResources) -> Iterator[Finding]:
    """Check the scheduler's configuration. `managed`: the counted resources in Berth's configuration."""
    listed = {
        each.name: each.ignored_by_scheduler for entry in side.berth_extenders for each in entry.managed_resources
    }
    found = [
        *_name_findings(listed),
        *_missing_findings(listed, managed),
        *_gate_findings(side, managed),
    ]
    if found:
        yield from found
    else:
        listed_names = ", ".join(sorted(listed)) or "none"
        yield ok(CHECK, listed_names if managed.resources or listed else "none, as in Berth's configuration")


def _name_findings(listed: dict[str, bool]) -> Iterator[Finding]:
    for name in listed:
        domain, slash, _ = name.partition("/")
        if not slash or not domain or domain == "kubernetes.io" or domain.endswith(".kubernetes.io"):
            yield failed(
                CHECK,
                f"{name} has no domain prefix: kube-scheduler does not start (fact 46)",
                "rename the resource",
            )


def _missing_findings(listed: dict[str, bool], managed: ManagedResources) -> Iterator[Finding]:
    for resource in managed.resources:
        if not resource.ignored_by_scheduler or listed.get(resource.name):
            continue
        yield warning(
            CHECK,
            f"{resource.name} is counted by Berth but not ignored by the scheduler: nodes without it in `allocatable` "
            "accept no pod that requests it (fact 38)",
            REMEDY,
        )
    for name in sorted(listed.keys() - {each.name for each in managed.resources}):
        if listed[name]:
            yield failed(CHECK, f"{name} is ignored by the scheduler but not counted by Berth", REMEDY)


def _gate_findings(side: SchedulerSide, managed: ManagedResources) -> Iterator[Finding]:
    """Check managedResources: an extender with this field is called only for pods that request one of them (fact 7)."""
    for_all_pods = [each for each in side.berth_extenders if not each.managed_resources]
    sees_all = any(each.filter_verb or each.prioritize_verb for each in for_all_pods)
    gated = any(each.filter_verb or each.prioritize_verb for each in side.berth_extenders if each.managed_resources)
    if gated and not sees_all and not managed.counts_only:
        yield failed(
            CHECK,
            "Berth is called only for pods that request one of them, but its policy is for all pods (fact 7)",
            REMEDY,
        )
    if managed.by_annotation and side.binder is not None and side.binder.managed_resources:
        yield failed(CHECK, "pods that request by annotation are not sent to bind, which counts them (fact 7)", REMEDY)
    if managed.rules_about_pods and side.binder is not None and side.binder.managed_resources:
        yield warning(
            CHECK,
            "only pods that request one of them are sent to bind: rules that depend on other pods are best effort for "
            "pods that are created at the same time (fact 7)",
            REMEDY,
        )
    if managed.rules_about_pods and side.binder is None:
        yield warning(
            CHECK,
            "Berth does not bind: rules that depend on other pods are best effort for pods that are created at the "
            "same time",
            REMEDY,
        )
    if (managed.resources or managed.by_annotation) and side.binder is None:
        yield failed(CHECK, "Berth does not bind, so nothing is counted", REMEDY)
    if side.binder is not None and side.binder.managed_resources:
        bound = {each.name for each in side.binder.managed_resources}
        for resource in managed.resources:
            if resource.name not in bound:
                yield failed(
                    CHECK, f"pods that request only {resource.name} are not bound by Berth, which counts it", REMEDY
                )
