"""Render the output: a KubeSchedulerConfiguration, or the manifests of a second scheduler that contain it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import orjson
import yaml

from berth_cli.scheduler_config.address import BasicCredentials, url_prefix
from berth_cli.scheduler_config.extenders import ExtenderOptions, extenders
from berth_cli.scheduler_config.kube_scheduler_configuration import (
    DEFAULT_SCHEDULER,
    FIELD_COMMENTS,
    LeaderElectionLock,
    scheduler_configuration,
)
from berth_cli.scheduler_config.second_scheduler import SecondScheduler, manifests


@dataclass(frozen=True, slots=True)
class ExtenderAddress:
    """The extender's address and the scheduler's credentials."""

    url: str
    basic: BasicCredentials | None

    @property
    def url_prefix(self) -> str:
        return url_prefix(self.url, self.basic)

    @property
    def without_password(self) -> str:
        return url_prefix(self.url, self.basic and BasicCredentials(self.basic.user))


def render_configuration(
    choices: ExtenderOptions,
    addressed: ExtenderAddress,
    scheduler: str,
    others: tuple[str, ...],
    kubeconfig: str,
    as_json: bool,
) -> str:
    """For the cluster's own scheduler, or one started manually. `others`: more scheduler names in its profiles."""
    lock = None if scheduler == DEFAULT_SCHEDULER else LeaderElectionLock("kube-system", scheduler)
    document = scheduler_configuration(
        _names(scheduler, others),
        extenders(replace(choices, url_prefix=addressed.url_prefix)),
        lock=lock,
        kubeconfig=kubeconfig,
        gangs=choices.managed.gangs,
    )
    return json_text(document) if as_json else yaml_text(document, FIELD_COMMENTS)


def second_scheduler(
    choices: ExtenderOptions,
    addressed: ExtenderAddress,
    second: SecondScheduler,
    others: tuple[str, ...],
    as_json: bool,
) -> str:
    """`second`: without its configuration; its name is the schedulerName."""
    names = tuple(name for name in _names(second.name, others) if name != DEFAULT_SCHEDULER)

    def text(prefix: str) -> str:
        entries = extenders(replace(choices, url_prefix=prefix))
        lock = LeaderElectionLock(second.namespace, second.name)
        document = scheduler_configuration(names, entries, lock=lock, gangs=choices.managed.gangs)
        return yaml_text(document, FIELD_COMMENTS)

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
    """Block style for multi-line texts; lists indented under their key."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        return super().increase_indent(flow, False)

    def ignore_aliases(self, data: object) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def yaml_text(document: Document, comments: Mapping[str, str] | None = None) -> str:
    """`comments`: comments by key, each above the first line with that key."""
    text = yaml.dump(dict(document), Dumper=_Dumper, sort_keys=False, width=110, allow_unicode=True)
    remaining = dict(comments or {})
    lines = []
    for line in text.splitlines():
        bare = line.lstrip(" -")
        comment = remaining.pop(bare.partition(":")[0], None)
        if comment is not None:
            lines.append(f"{' ' * (len(line) - len(bare))}# {comment}")
        lines.append(line)
    return "\n".join(lines) + "\n"


def yaml_stream(documents: Sequence[Document]) -> str:
    """The documents as a YAML stream for `kubectl apply -f -`."""
    return "---\n".join(map(yaml_text, documents))


def json_text(document: Document) -> str:
    """The document as indented JSON."""
    return orjson.dumps(document, option=orjson.OPT_INDENT_2).decode() + "\n"


def json_list(documents: Sequence[Document]) -> str:
    """The documents as one `List`, which kubectl accepts like several documents."""
    return json_text({"apiVersion": "v1", "kind": "List", "items": list(documents)})
