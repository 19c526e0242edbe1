"""Pseudonyms for the names of a cluster. Equal names have equal pseudonyms, and pseudonyms sort as the names do.

A pseudonym is a code for the order and a keyed hash. The key is drawn for each recording and not kept.

In clear stay

- names that the policy contains, such as keys of labels and namespaces, and the values of such labels: the policy is in
  the recording as it is, and its rules read them;
- keys of labels, annotations and taints with a domain of Kubernetes or of Berth, such as `topology.kubernetes.io/zone`:
  plugins know some of them;
- whole numbers: Gt, Lt and scores read them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b

from berth.scheduling.fields.containers import ALL_ADDRESSES
from berth.scheduling.fields.node_affinity import NODE_NAME
from berth.scheduling.fields.selectors import is_label_key, is_label_value
from berth.scheduling.objects.pod_group import POD_GROUP_LABELS
from berth.scheduling.plugins.node_priority_label import NodePriorityLabelArgs
from berth_cli.recording.name_order import NameOrder, by_length, by_text

KNOWN_DOMAINS = (".kubernetes.io", ".k8s.io", ".berth.dev")
PRIORITY_LABEL = NodePriorityLabelArgs().label
KNOWN_NAMES = frozenset(
    {
        "",
        ALL_ADDRESSES,
        NODE_NAME,
        PRIORITY_LABEL,
        "default-scheduler",
        "system-cluster-critical",
        "system-node-critical",
        *POD_GROUP_LABELS,
    }
)
_NUMBER = re.compile(r"[-+]?[0-9]{1,63}", re.ASCII)
_LONG_NAME = re.compile(r"[a-z0-9A-Z]([-._a-z0-9A-Z]{0,251}[a-z0-9A-Z])?", re.ASCII)
_BEYOND_A_LABEL = "-" + "0" * 60
_HASH_BYTES = 4


class Pseudonyms:
    """Of one recording. For one thread."""

    def __init__(self, key: bytes, kept: Iterable[str] = ()) -> None:
        """kept: names that stay in clear, besides those of the policies."""
        self._key = key
        self._kept = set(kept)
        self._names, self._pods = NameOrder(by_text), NameOrder(by_length)
        self._known: dict[str, str] = {}
        self._known_pods: dict[str, str] = {}

    def keep(self, document: Mapping[str, object]) -> bool:
        """From now on the names in this policy stay in clear. Whether one of them has got a pseudonym before."""
        new = {text for text in _texts(document) if text not in self._kept}
        self._kept |= new
        return not new.isdisjoint(self._known)

    def keeps_values(self, key: str) -> bool:
        """Whether the values of labels and annotations of this key stay, too: a rule reads them."""
        return key in self._kept or key == PRIORITY_LABEL

    def name(self, text: str) -> str:
        """Of a node, a namespace, the key or the value of a label, and any other name but a pod's."""
        if text in self._kept or text in KNOWN_NAMES or _NUMBER.fullmatch(text) is not None or _has_known_domain(text):
            return text
        found = self._known.get(text)
        if found is None:
            found = self._known[text] = _formed_like(text, f"{self._names.code(text).rstrip('0')}-{self._hash(text)}")
        return found

    def pod(self, text: str) -> str:
        """The name of a pod. All are of one length."""
        found = self._known_pods.get(text)
        if found is None:
            found = self._known_pods[text] = f"{self._pods.code(text)}-{self._hash(text)}"
        return found

    def uid(self, text: str) -> str:
        """Of a pod. UIDs have no order."""
        return self._hash(text, 16) if text else ""

    def image(self, text: str) -> str:
        """With a tag where it has one."""
        return f"{self._hash(text)}:t" if text.rfind(":") > text.rfind("/") else self._hash(text)

    def _hash(self, text: str, size: int = _HASH_BYTES) -> str:
        return blake2b(text.encode(errors="surrogatepass"), digest_size=size, key=self._key).hexdigest()


def _has_known_domain(text: str) -> bool:
    domain, slash, _ = text.partition("/")
    return bool(slash) and f".{domain}".endswith(KNOWN_DOMAINS) and is_label_key(text)


def _formed_like(text: str, pseudonym: str) -> str:
    """Valid where the name is valid: a selector with a value that is no label's value matches nothing."""
    if is_label_value(text):
        return pseudonym
    if _LONG_NAME.fullmatch(text) is not None:
        return pseudonym + _BEYOND_A_LABEL
    return f"p/{pseudonym}" if is_label_key(text) else f"{pseudonym}!"


def _texts(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            for name, each in value.items():
                yield name
                yield from _texts(each)
        case list() | tuple() | set() | frozenset():
            for each in value:
                yield from _texts(each)
