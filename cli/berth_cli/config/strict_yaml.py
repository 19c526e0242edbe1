"""YAML with nothing in it that would be dropped in silence: one document, and each key once."""

from __future__ import annotations

from collections.abc import Iterator

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode


class NotOneDocument(ValueError):
    """What the text is instead; `field` is the place of it, where it has one."""

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(message)
        self.field = field


def load(text: str | bytes) -> object:
    """The document of a text. Raises NotOneDocument."""
    try:
        return _load(yaml.SafeLoader(text))
    except (yaml.YAMLError, ValueError) as error:
        if isinstance(error, NotOneDocument):
            raise
        raise NotOneDocument(f"is not YAML: {' '.join(str(error).split())}") from error
    except RecursionError as error:
        raise NotOneDocument("is nested too deeply") from error


def _load(loader: yaml.SafeLoader) -> object:
    nodes = _nodes(loader)
    if not nodes:
        raise NotOneDocument("is empty")
    if len(nodes) > 1:
        raise NotOneDocument(f"there are {len(nodes)} YAML documents; give one")
    for field, key in _repeated(nodes[0], "", set()):
        raise NotOneDocument(f"the key is there twice; again in line {key.start_mark.line + 1}", field)
    return loader.construct_document(nodes[0])


def _nodes(loader: yaml.SafeLoader) -> list[Node]:
    nodes = []
    while loader.check_node():
        node = loader.get_node()
        # A document mark with nothing after it, as at the end of a file, is no document.
        if node is not None and not (isinstance(node, ScalarNode) and node.value == ""):
            nodes.append(node)
    return nodes


def _repeated(node: Node, path: str, seen: set[int]) -> Iterator[tuple[str, Node]]:
    """Keys that are there again. `seen`: nodes that were looked at, for an anchor may stand for what it is part of."""
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, SequenceNode):
        for index, item in enumerate(node.value):
            yield from _repeated(item, _joined(path, str(index)), seen)
    elif isinstance(node, MappingNode):
        keys: set[str] = set()
        for key, value in node.value:
            if isinstance(key, ScalarNode):
                field = _joined(path, key.value)
                if key.value in keys and key.value != "<<":
                    yield field, key
                keys.add(key.value)
                yield from _repeated(value, field, seen)


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
