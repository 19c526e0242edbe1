"""Documents as text: YAML with its reasons above the lines they are for, or JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import orjson
import yaml

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


def as_yaml(document: Document, reasons: Mapping[str, str] | None = None) -> str:
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


def all_as_yaml(documents: Sequence[Document]) -> str:
    """As `kubectl apply -f -` takes them."""
    return "---\n".join(map(as_yaml, documents))


def as_json(document: Document) -> str:
    """One object."""
    return orjson.dumps(document, option=orjson.OPT_INDENT_2).decode() + "\n"


def all_as_json(documents: Sequence[Document]) -> str:
    """A List: kubectl takes it as it takes several documents."""
    return as_json({"apiVersion": "v1", "kind": "List", "items": list(documents)})
