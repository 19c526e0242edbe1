"""What is printed: the configuration alone, or a second scheduler's manifests with the configuration inside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from berth_cli.scheduler_config import documents
from berth_cli.scheduler_config.address import Basic, url_prefix
from berth_cli.scheduler_config.extenders import Choices, extenders
from berth_cli.scheduler_config.kube_scheduler_configuration import (
    DEFAULT_SCHEDULER,
    REASONS,
    Lock,
    scheduler_configuration,
)
from berth_cli.scheduler_config.second_scheduler import SecondScheduler, manifests

Configured = Callable[[str], dict[str, object]]
"""A KubeSchedulerConfiguration for an urlPrefix."""


@dataclass(frozen=True, slots=True)
class Addressed:
    """An address, and who calls it."""

    url: str
    basic: Basic | None

    @property
    def url_prefix(self) -> str:
        return url_prefix(self.url, self.basic)

    @property
    def without_password(self) -> str:
        return url_prefix(self.url, self.basic and Basic(self.basic.user))


def own_configuration(
    choices: Choices, addressed: Addressed, scheduler: str, others: tuple[str, ...], kubeconfig: str, as_json: bool
) -> str:
    """For the cluster's own scheduler, or one that is started by hand. `others`: further names it answers to."""
    lock = None if scheduler == DEFAULT_SCHEDULER else Lock("kube-system", scheduler)
    document = scheduler_configuration(
        _names(scheduler, others),
        extenders(replace(choices, url_prefix=addressed.url_prefix)),
        lock=lock,
        kubeconfig=kubeconfig,
    )
    return documents.as_json(document) if as_json else documents.as_yaml(document, REASONS)


def second_scheduler(
    choices: Choices, addressed: Addressed, second: SecondScheduler, others: tuple[str, ...], as_json: bool
) -> str:
    """`second` comes without its configuration; its name is the schedulerName. The cluster's own keeps its pods."""
    names = tuple(name for name in _names(second.name, others) if name != DEFAULT_SCHEDULER)

    def text(prefix: str) -> str:
        entries = extenders(replace(choices, url_prefix=prefix))
        document = scheduler_configuration(names, entries, lock=Lock(second.namespace, second.name))
        return documents.as_yaml(document, REASONS)

    found = manifests(
        replace(
            second,
            configuration=text(addressed.url_prefix),
            without_password=text(addressed.without_password) if addressed.basic else "",
        )
    )
    return documents.all_as_json(found) if as_json else documents.all_as_yaml(found)


def _names(first: str, others: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((first, *others)))
