"""Scheduler configurations as `berth scheduler-config` prints them, with changes by the test."""

from __future__ import annotations

from typing import Any

from berth_cli.installation.doctor.scheduler_configuration import (
    SchedulerSide,
    parse_scheduler_configuration,
    scheduler_side,
)
from berth_cli.installation.extenders import NO_MANAGED_RESOURCES, ExtenderOptions, ManagedResources, extenders
from berth_cli.installation.kube_scheduler_configuration import scheduler_configuration
from tests.fakes.doctor import ADDRESS


def document(managed: ManagedResources = NO_MANAGED_RESOURCES, **entry: Any) -> dict[str, Any]:
    """Return a configuration with these fields in its entries; a field with None is removed."""
    printed = extenders(ExtenderOptions(url_prefix=entry.pop("urlPrefix", ADDRESS), managed=managed))
    entries = [{key: value for key, value in (each | entry).items() if value is not None} for each in printed]
    return scheduler_configuration(["default-scheduler"], entries, gangs=managed.gangs)


def side(found: dict[str, Any] | None = None, address: str = ADDRESS, **entry: Any) -> SchedulerSide:
    return scheduler_side("scheduler.yaml", parse_scheduler_configuration(found or document(**entry)), address)
