"""What is printed: the configuration alone, or a second scheduler's manifests with the configuration inside."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import orjson
import yaml

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
    return json_text(document) if as_json else yaml_text(document, REASONS)


def second_scheduler(
    choices: Choices, addressed: Addressed, second: SecondScheduler, others: tuple[str, ...], as_json: bool
) -> str:
    """`second` comes without its configuration; its name is the schedulerName. The cluster's own keeps its pods."""
    names = tuple(name for name in _names(second.name, others) if name != DEFAULT_SCHEDULER)

    def text(prefix: str) -> str:
        entries = extenders(replace(choices, url_prefix=prefix))
        document = scheduler_configuration(names, entries, lock=Lock(second.namespace, second.name))
        return yaml_text(document, REASONS)

    found = manifests(
        replace(
            second,
            configuration=text(addressed.url_prefix),
            without_password=text(addressed.without_password) if addressed.basic else "",
        )
    )
    return json_list(found) if as_json else yaml_stream(found)


def _names(first: str, others: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((first, *others)))


Document = Mapping[str, object]


class _Dumper(yaml.SafeDumper):
    """Texts of several lines as such, and lists indented under their key."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        return super().increase_indent(flow, False)

    def ignore_aliases(self, data: object) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def yaml_text(document: Document, reasons: Mapping[str, str] | None = None) -> str:
    """`reasons`: comments for keys, each put above the first line that begins with its key."""
    text = yaml.dump(dict(document), Dumper=_Dumper, sort_keys=False, width=110, allow_unicode=True)
    left = dict(reasons or {})
    lines = []
    for line in text.splitlines():
        bare = line.lstrip(" -")
        reason = left.pop(bare.partition(":")[0], None)
        if reason is not None:
            lines.append(f"{' ' * (len(line) - len(bare))}# {reason}")
        lines.append(line)
    return "\n".join(lines) + "\n"


def yaml_stream(documents: Sequence[Document]) -> str:
    """As `kubectl apply -f -` takes them."""
    return "---\n".join(map(yaml_text, documents))


def json_text(document: Document) -> str:
    """One object."""
    return orjson.dumps(document, option=orjson.OPT_INDENT_2).decode() + "\n"


def json_list(documents: Sequence[Document]) -> str:
    """A List: kubectl takes it as it takes several documents."""
    return json_text({"apiVersion": "v1", "kind": "List", "items": list(documents)})
