"""Strict YAML: parses exactly one document, and rejects duplicate keys, which a plain YAML loader drops silently."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

Path = tuple[str | int, ...]


class InvalidYAML(ValueError):
    """The text is not exactly one YAML document. `path`: the path of the error; empty for the whole document. `line`:
    the line number from 1."""

    def __init__(self, message: str, path: Path = (), line: int | None = None) -> None:
        super().__init__(message)
        self.path = path
        self.line = line


@dataclass(frozen=True, slots=True)
class YAMLDocument:
    """A document's value, and the line numbers of its parts."""

    value: object
    root: Node

    def line(self, path: Sequence[object]) -> int:
        """Return the line of the part at this path, starting at 1; if the part is missing, its parent's line."""
        node, line = self.root, self.root.start_mark.line
        for part in path:
            found = _child(node, part)
            if found is None:
                break
            node, line = found
        return line + 1


def load(text: str | bytes) -> YAMLDocument:
    """Parse the text. Raises InvalidYAML."""
    documents = load_all(text)
    if not documents:
        raise InvalidYAML("is empty")
    if len(documents) > 1:
        line = documents[1].root.start_mark.line + 1
        raise InvalidYAML(f"contains {len(documents)} YAML documents; give one", line=line)
    return documents[0]


def load_all(text: str | bytes) -> list[YAMLDocument]:
    """Parse text with any number of documents. Raises InvalidYAML."""
    try:
        loader = yaml.SafeLoader(text)
        return [_constructed(loader, node) for node in _nodes(loader)]
    except yaml.MarkedYAMLError as error:
        line = None if error.problem_mark is None else error.problem_mark.line + 1
        message = error.problem or " ".join(str(error).split())
        raise InvalidYAML(f"is not YAML: {message}", line=line) from error
    except (yaml.YAMLError, ValueError) as error:
        if isinstance(error, InvalidYAML):
            raise
        raise InvalidYAML(f"is not YAML: {' '.join(str(error).split())}") from error
    except RecursionError as error:
        raise InvalidYAML("is nested too deeply") from error


def _constructed(loader: yaml.SafeLoader, root: Node) -> YAMLDocument:
    for path, first, second in _duplicate_keys(root, (), set()):
        raise InvalidYAML(
            f"duplicate key: the same key is in line {first.start_mark.line + 1}", path, second.start_mark.line + 1
        )
    return YAMLDocument(loader.construct_document(root), root)


def _nodes(loader: yaml.SafeLoader) -> list[Node]:
    nodes = []
    while loader.check_node():
        node = loader.get_node()
        # A document marker without content, for example at the end of a file, does not start a document.
        if node is not None and not (isinstance(node, ScalarNode) and node.value == ""):
            nodes.append(node)
    return nodes


def _duplicate_keys(node: Node, path: Path, seen: set[int]) -> Iterator[tuple[Path, Node, Node]]:
    """Yield paths of duplicate keys, with the first and the repeated key. `seen`: ids of visited nodes, because an
    alias may refer to its own parent."""
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, SequenceNode):
        for index, item in enumerate(node.value):
            yield from _duplicate_keys(item, (*path, index), seen)
    elif isinstance(node, MappingNode):
        keys: dict[str, Node] = {}
        for key, value in node.value:
            if isinstance(key, ScalarNode):
                if key.value in keys and key.value != "<<":
                    yield (*path, key.value), keys[key.value], key
                keys.setdefault(key.value, key)
                yield from _duplicate_keys(value, (*path, key.value), seen)


def _child(node: Node, part: object) -> tuple[Node, int] | None:
    """Return the node at this key or index, and the line of the key, or of the node in a list."""
    if isinstance(node, SequenceNode) and isinstance(part, int) and part < len(node.value):
        return node.value[part], node.value[part].start_mark.line
    if isinstance(node, MappingNode):
        for key, value in node.value:
            if isinstance(key, ScalarNode) and key.value == part:
                return value, key.start_mark.line
    return None
