"""All that the checks look at. What was not given is None; what was given and cannot be had is a finding."""

from __future__ import annotations

from dataclasses import dataclass, field

from berth.scheduling.configuration import BerthConfiguration
from berth_cli.doctor.access.account import Account
from berth_cli.doctor.access.cluster import ClusterAccess
from berth_cli.doctor.access.credentials import NO_MATERIAL, TLSMaterial
from berth_cli.doctor.access.endpoint import Endpoint
from berth_cli.doctor.findings import Finding
from berth_cli.doctor.scheduler.scheduler_side import SchedulerSide


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """`address`: Berth's, where it was named. reader: the cluster as who runs the command. watcher, binder: as those
    functions. stack_timeout: the template's HttpTimeoutSeconds. periodic: the stack's watcher lists once a minute."""

    findings: tuple[Finding, ...] = ()
    side: SchedulerSide | None = None
    address: str = ""
    endpoint: Endpoint | None = None
    material: TLSMaterial = field(default=NO_MATERIAL, repr=False)
    configuration: BerthConfiguration | None = None
    account: Account | None = None
    stack_timeout: float | None = None
    periodic: bool = False
    reader: ClusterAccess | None = None
    watcher: ClusterAccess | None = None
    binder: ClusterAccess | None = None
