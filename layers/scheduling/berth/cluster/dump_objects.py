"""Reads a file of Kubernetes objects, in the formats that `kubectl apply` reads and `kubectl get` prints, for all
commands. kubectl's YAML of a large cluster is one list of hundreds of megabytes. Parsing it item by item takes a third
of the time of parsing the whole list."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator

import orjson
import yaml

from berth.cluster.watch.resources import GANG_RESOURCES, KINDS, Resource
from berth.nodecache.feed.cluster import KubernetesObject

DEFAULT_NAMESPACE = "default"

_RESOURCES = {kind: resource for resource, kind in KINDS.items()}
_NAMESPACED = {*KINDS.values(), "PodGroup"} - {"Node", "Namespace", "PriorityClass"}

_LIST = re.compile(rb"^items:[ \t]*\n(?=- )", re.MULTILINE)
_ITEM = re.compile(rb"^- ", re.MULTILINE)
_AFTER = re.compile(rb"^[^-# \t\n]", re.MULTILINE)
# An alias may refer to another item. kubectl does not print aliases; a list with aliases is parsed as a whole.
_ALIAS = re.compile(rb"[:-] \*[\w-]+[ \t]*$", re.MULTILINE)
# Hand-written manifests have fewer bytes: a larger text that starts like JSON is a dump in JSON.
_MANIFEST = 1_000_000
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def _make_loader() -> type[yaml.SafeLoader]:
    """Return libyaml's parser, which is twenty times faster, if PyYAML has it. A date stays text, as for kubectl."""
    base: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    resolvers = {
        first: [each for each in known if each[0] != "tag:yaml.org,2002:timestamp"]
        for first, known in base.yaml_implicit_resolvers.items()
    }
    return type("KubectlLoader", (base,), {"yaml_implicit_resolvers": resolvers})


_LOADER = _make_loader()


class MalformedDump(ValueError):
    """The text is not a file of Kubernetes objects. The message does not contain the file's name."""


def parse_objects(text: bytes) -> Iterator[KubernetesObject]:
    """Yield single objects and the items of lists at any depth, of one or more documents in JSON or YAML. An item of a
    typed list, such as NodeList, has the kind and version of the list. Raises MalformedDump."""
    try:
        # Windows PowerShell 5.1 writes UTF-16, and editors on Windows write a byte order mark.
        if text.startswith(_UTF16):
            text = text.decode("utf-16").encode()
        text = text.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
        if (documents := _json_documents(text)) is not None:
            for document in documents:
                yield from map(_as_stored, _flatten(document, {}))
        else:
            for document, defaults in _yaml_documents(text):
                yield from map(_as_stored, map(_as_json, _flatten(document, defaults)))
    except MalformedDump:
        raise
    except (ValueError, yaml.YAMLError) as error:
        raise MalformedDump(f"is neither JSON nor YAML as kubectl prints it: {' '.join(str(error).split())}") from error


def _as_stored(obj: KubernetesObject) -> KubernetesObject:
    """Return the object with the fields that an API server sets on creation and that hand-written objects lack."""
    kind, metadata, status = obj.get("kind"), obj.get("metadata"), obj.get("status")
    if kind in _NAMESPACED and isinstance(metadata, dict):
        set_identity(metadata)
    if kind == "Node" and isinstance(status, dict) and status.get("allocatable") is None and "capacity" in status:
        obj = {**obj, "status": {**status, "allocatable": status["capacity"]}}
    return obj


def set_identity(metadata: KubernetesObject) -> None:
    namespace = metadata.get("namespace") or DEFAULT_NAMESPACE
    metadata["namespace"] = namespace
    if metadata.get("name") and not metadata.get("uid"):
        # A namespace cannot contain a dot, so this UID is unique.
        metadata["uid"] = f"{namespace}.{metadata['name']}"


def select_objects(objects: Iterable[KubernetesObject]) -> tuple[list[KubernetesObject], Counter[str]]:
    """Return the objects that scheduling uses, and the number of omitted objects for each reason. Of several objects
    with the same name, the last is used, as with `kubectl apply`."""
    found: dict[object, KubernetesObject] = {}
    left_out: Counter[str] = Counter()
    for obj in objects:
        kind, key = str(obj.get("kind") or ""), _identity(obj)
        if not kind:
            left_out["object without a kind"] += 1
        elif resource_of(obj) is None:
            left_out[f"{kind} that scheduling does not use"] += 1
        else:
            if key in found:
                left_out[f"{kind} that occurs again"] += 1
            found[key] = obj
    return list(found.values()), left_out


def resource_of(obj: KubernetesObject) -> Resource | None:
    """Return the resource of an object; None if scheduling does not use it."""
    if obj.get("kind") != "PodGroup":
        return _RESOURCES.get(str(obj.get("kind")))
    group = str(obj.get("apiVersion")).partition("/")[0]
    return next((each for each in GANG_RESOURCES if each.group == group), None)


def _identity(obj: KubernetesObject) -> object:
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        return id(obj)
    version = obj.get("apiVersion") if obj.get("kind") == "PodGroup" else None
    return obj.get("kind"), version, metadata.get("namespace"), metadata["name"]


def _flatten(value: object, defaults: KubernetesObject) -> Iterator[KubernetesObject]:
    """Yield the objects in a document. `defaults`: kind and version of the list that contains it."""
    if isinstance(value, list):
        for item in value:
            yield from _flatten(item, defaults)
    elif isinstance(value, dict):
        obj = value if "kind" in value else defaults | value
        if isinstance(obj.get("items"), list):
            yield from _flatten(obj["items"], _item_defaults(obj))
        else:
            yield obj
    elif value is not None:
        raise MalformedDump(f"contains {str(value)[:40]!r} instead of a Kubernetes object")


def _item_defaults(of_list: KubernetesObject) -> KubernetesObject:
    """Return the kind and version for items that do not have a kind, as in the API server's NodeList."""
    kind = str(of_list.get("kind") or "").removesuffix("List")
    if not kind:
        return {}
    return {"kind": kind, **({"apiVersion": of_list["apiVersion"]} if "apiVersion" in of_list else {})}


def _as_json(obj: KubernetesObject) -> KubernetesObject:
    """Return the object as JSON, as kubectl converts it: a label's key 1, which YAML reads as a number, is text."""
    try:
        found: KubernetesObject = orjson.loads(orjson.dumps(obj, option=orjson.OPT_NON_STR_KEYS))
    except orjson.JSONEncodeError as error:
        raise MalformedDump(f"has a {obj.get('kind')} that JSON cannot express: {error}") from error
    return found


def _json_documents(text: bytes) -> list[object] | None:
    """Parse one or more documents of JSON. Return None if the text may be YAML, even if it begins like JSON."""
    if text.lstrip()[:1] not in (b"{", b"["):
        return None
    try:
        return [orjson.loads(text)]
    except orjson.JSONDecodeError:
        pass
    documents, decoder, whole, at = [], json.JSONDecoder(), text.decode().strip(), 0
    try:
        while at < len(whole):
            document, at = decoder.raw_decode(whole, at)
            documents.append(document)
            while whole[at : at + 1].isspace():
                at += 1
    except json.JSONDecodeError:
        if len(text) > _MANIFEST:
            raise
        return None
    return documents


def _yaml_documents(text: bytes) -> Iterator[tuple[object, KubernetesObject]]:
    """Yield each document, with the kind and version for items that do not have their own."""
    head = _LIST.search(text)
    if head is None or text.startswith(b"---") or b"\n---" in text or _ALIAS.search(text):
        yield from ((document, {}) for document in yaml.load_all(text, _LOADER))
        return
    after = _AFTER.search(text, head.end())
    end = after.start() if after else len(text)
    around = yaml.load(text[: head.start()] + text[end:], _LOADER)  # noqa: S506 - a safe loader
    defaults = _item_defaults(around) if isinstance(around, dict) else {}
    starts = [match.start() for match in _ITEM.finditer(text, head.end(), end)]
    for start, stop in zip(starts, [*starts[1:], end], strict=True):
        yield yaml.load(text[start:stop], _LOADER), defaults  # noqa: S506 - a safe loader
