"""Strict YAML: exactly one document, and no duplicate keys, which a plain YAML loader drops silently."""

from __future__ import annotations

from collections.abc import Iterator

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode


class InvalidYAML(ValueError):
    """The text is not one YAML document. `field`: dotted path of the error, or empty."""

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(message)
        self.field = field


def load(text: str | bytes) -> object:
    """Parse the text. Raises InvalidYAML."""
    try:
        return _load(yaml.SafeLoader(text))
    except (yaml.YAMLError, ValueError) as error:
        if isinstance(error, InvalidYAML):
            raise
        raise InvalidYAML(f"is not YAML: {' '.join(str(error).split())}") from error
    except RecursionError as error:
        raise InvalidYAML("is nested too deeply") from error


def _load(loader: yaml.SafeLoader) -> object:
    nodes = _nodes(loader)
    if not nodes:
        raise InvalidYAML("is empty")
    if len(nodes) > 1:
        raise InvalidYAML(f"contains {len(nodes)} YAML documents; give one")
    for field, key in _duplicate_keys(nodes[0], "", set()):
        raise InvalidYAML(f"duplicate key, repeated in line {key.start_mark.line + 1}", field)
    return loader.construct_document(nodes[0])


def _nodes(loader: yaml.SafeLoader) -> list[Node]:
    nodes = []
    while loader.check_node():
        node = loader.get_node()
        # A document marker with no content, for example at the end of a file, starts no document.
        if node is not None and not (isinstance(node, ScalarNode) and node.value == ""):
            nodes.append(node)
    return nodes


def _duplicate_keys(node: Node, path: str, seen: set[int]) -> Iterator[tuple[str, Node]]:
    """Duplicate keys with their paths. `seen`: ids of visited nodes, because an alias may refer to its own parent."""
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, SequenceNode):
        for index, item in enumerate(node.value):
            yield from _duplicate_keys(item, _join_path(path, str(index)), seen)
    elif isinstance(node, MappingNode):
        keys: set[str] = set()
        for key, value in node.value:
            if isinstance(key, ScalarNode):
                field = _join_path(path, key.value)
                if key.value in keys and key.value != "<<":
                    yield field, key
                keys.add(key.value)
                yield from _duplicate_keys(value, field, seen)


def _join_path(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
