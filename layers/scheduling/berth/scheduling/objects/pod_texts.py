"""Reads large pods from the texts of their parts. A text that was read before is not decoded again.

A part is found by the SHA-256 of its text, which proves that the same text was decoded and checked before. This module
keeps weak references: specs and labels stay in memory only while, for example, an evaluation refers to them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from threading import Lock
from weakref import WeakValueDictionary

import orjson
from pydantic_core import CoreSchema, SchemaValidator, ValidationError, core_schema

from berth.garbage_collection import collection_paused
from berth.scheduling.fields.reading import MalformedField, Object, UnreadableObject, name_or_empty
from berth.scheduling.objects.pod import LabelSet, Pod, PodSpec
from berth.scheduling.objects.pod_reading import annotations_of, labels_of, pod_of, pod_spec
from berth.scheduling.objects.projection import (
    READ_CONTAINER,
    READ_METADATA,
    READ_SPEC,
    READ_STATUS,
    READ_VOLUME,
    RESIZE_STATUS,
    controller_fields,
    shared_fields,
)

SMALL = 16_384
"""A text with fewer characters is decoded as a whole, without a look-up."""

MAX_TEXTS = 10_000
"""The maximum number of hashes for specs, and for labels. Texts that differ only in unread fields share a spec."""

MAX_METADATA = 64
MAX_METADATA_BYTES = 32 << 20
_BYTES_PER_ENTRY = 250


@dataclass(frozen=True, slots=True)
class PodTexts:
    """The JSON texts of a v1.Pod's parts. Each text is an object."""

    metadata: str
    spec: str
    status: str


_ANY = core_schema.any_schema()


class FieldsOf:
    """Decodes one part of a pod, but only the fields that scheduling reads.

    The creator of a pod determines the size of the other fields. orjson creates an object for each value, which takes
    most of the time of a call with a pod of 1.5 MB. pydantic's parser checks the whole text, but creates objects only
    for the named fields. The results differ only for values that Go never writes: numbers of more than 64 bits, and
    NaN.
    """

    def __init__(self, names: Iterable[str], items: Mapping[str, Iterable[str]] | None = None) -> None:
        """Prepare the decoder. names: the fields to keep. items: for fields that are lists, the fields of their items
        to keep."""
        lists = {field: core_schema.list_schema(_object(kept)) for field, kept in (items or {}).items()}
        self._validator = SchemaValidator(_object(names, lists))

    def decode(self, text: str) -> Object:
        """Return these fields; the whole object if a list has the wrong type, so that the parser reports it. Raises
        JSONDecodeError, also if the text is not an object."""
        try:
            found: Object = self._validator.validate_json(text)
        except ValidationError:
            return decode_object(text)
        return found


def decode_object(text: str) -> Object:
    """Decode a whole object. Raises JSONDecodeError."""
    found = orjson.loads(text)
    if not isinstance(found, dict):
        raise orjson.JSONDecodeError("not an object", text[:1], 0)
    return found


def _object(names: Iterable[str], others: Mapping[str, CoreSchema] | None = None) -> CoreSchema:
    fields = {**dict.fromkeys(names, _ANY), **(others or {})}
    return core_schema.typed_dict_schema(
        {name: core_schema.typed_dict_field(schema, required=False) for name, schema in fields.items()},
        extra_behavior="ignore",
    )


_METADATA = FieldsOf(READ_METADATA)
_SPEC = FieldsOf(READ_SPEC, {"containers": READ_CONTAINER, "initContainers": READ_CONTAINER, "volumes": READ_VOLUME})
_STATUS = FieldsOf((*READ_STATUS, *RESIZE_STATUS))
_RESIZED = frozenset(RESIZE_STATUS)

_Key = tuple[bytes, str, bytes]
_SPECS: WeakValueDictionary[_Key, PodSpec] = WeakValueDictionary()
_LABELS: WeakValueDictionary[tuple[bytes, str], LabelSet] = WeakValueDictionary()


@dataclass(frozen=True, slots=True)
class _Metadata:
    fields: Object
    annotations: Mapping[str, str]

    @classmethod
    def of(cls, text: str) -> _Metadata:
        found = _METADATA.decode(text)
        kept = {name: value for name, value in found.items() if name not in ("annotations", "ownerReferences")}
        return cls(kept | controller_fields(found), annotations_of(found))

    @property
    def size(self) -> int:
        return sum(_BYTES_PER_ENTRY + len(key) + len(value) for key, value in self.annotations.items())


class _RecentMetadata:
    """The decoded metadata of the most recent texts. Thread-safe."""

    def __init__(self) -> None:
        self._found: OrderedDict[bytes, tuple[_Metadata, int]] = OrderedDict()
        self._size = 0
        self._lock = Lock()

    def read(self, text: str) -> _Metadata:
        if len(text) < SMALL:
            return _Metadata.of(text)
        key = _hash(text)
        with self._lock:
            known = self._found.get(key)
        if known is not None:
            return known[0]
        found = _Metadata.of(text)
        size = found.size
        with self._lock:
            if key not in self._found:
                self._found[key] = found, size
                self._size += size
            while self._size > MAX_METADATA_BYTES or len(self._found) > MAX_METADATA:
                _, (_, freed) = self._found.popitem(last=False)
                self._size -= freed
        return found


_RECENT_METADATA = _RecentMetadata()


def read_pod_texts(texts: PodTexts) -> Pod | UnreadableObject | None:
    """Read a pod from these parts, as `read_pod` does; None if a text is not a JSON object."""
    try:
        # Pause garbage collection, which scans the whole snapshot: it took nine tenths of the time.
        with collection_paused():
            return _read(texts)
    except orjson.JSONDecodeError:
        return None
    except MalformedField as error:
        return UnreadableObject(str(error))


def _read(texts: PodTexts) -> Pod | UnreadableObject:
    metadata, labels = _metadata(texts.metadata)
    status = _STATUS.decode(texts.status)
    spec, node_name = _spec(metadata.fields, texts.spec, status)
    return pod_of(metadata.fields, metadata.annotations, node_name, status, labels, spec)


def _metadata(text: str) -> tuple[_Metadata, LabelSet]:
    cut = _cut_at_labels(text)
    if cut is None:
        return _whole_metadata(text)
    before, labels_text, after = cut
    first, rest = decode_object(before), _RECENT_METADATA.read(after)
    if "labels" in first or "labels" in rest.fields or "annotations" in first:
        return _whole_metadata(text)
    found = first | rest.fields
    namespace = name_or_empty(found.get("namespace"))
    key = _hash(labels_text), namespace
    labels = _LABELS.get(key)
    if labels is None:
        labels = labels_of({"namespace": found.get("namespace"), "labels": decode_object(labels_text)})
        if len(_LABELS) < MAX_TEXTS:
            _LABELS[key] = labels
    return _Metadata(found, rest.annotations), labels


def _whole_metadata(text: str) -> tuple[_Metadata, LabelSet]:
    """Decode the metadata as one text, because it is small, or a key may occur twice: then the last value counts."""
    found = _Metadata.of(text)
    return found, labels_of(found.fields)


def _cut_at_labels(text: str) -> tuple[str, str, str] | None:
    """Split the text of large metadata at its labels into three objects, or return None. The objects are valid JSON
    only if the whole text is valid, and the labels belong to the metadata itself and not to a nested object."""
    if len(text) < SMALL:
        return None
    start = text.find(_LABELS_KEY)
    # Labels are flat, and the API server rejects braces in keys and values.
    end = text.find("}", start) + 1
    if start < 0 or text[end : end + 1] not in (",", "}"):
        return None
    after = "{" + text[end + 1 :] if text[end] == "," else "{" + text[end:]
    return text[:start] + "}", text[start + len(_LABELS_KEY) - 1 : end], after


_LABELS_KEY = ',"labels":{'


def _spec(metadata: Object, text: str, status: Object) -> tuple[PodSpec, object]:
    """Return the spec, and the name of the pod's node. The spec of a placed or resized pod is not cached."""
    owner = controller_fields(metadata)
    key = _hash(text), name_or_empty(metadata.get("namespace")), orjson.dumps(owner, option=orjson.OPT_SORT_KEYS)
    resized = not _RESIZED.isdisjoint(status)
    found = None if resized else _SPECS.get(key)
    if found is not None:
        return found, None
    spec = _SPEC.decode(text)
    found = pod_spec(shared_fields({"metadata": metadata, "spec": spec, "status": status}, placed=False))
    node_name = spec.get("nodeName")
    if not resized and node_name is None and len(_SPECS) < MAX_TEXTS:
        _SPECS[key] = found
    return found, node_name


def _hash(text: str) -> bytes:
    return sha256(text.encode(errors="surrogatepass")).digest()
