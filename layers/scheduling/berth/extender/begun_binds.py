"""Pods whose bind has begun in this process, and that no table shows on their nodes yet.

kube-scheduler decides on the next pod while it waits for bind. Bind reads the pod at the API server before it announces
it or reserves: the next decision would not know of it. Where all verbs are in one process, the pod counts on its node
from the moment that bind's request has arrived, as the scheduler sent it with its filter. In Lambda functions have
processes of their own, and no such pod is known.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import Lock

from berth.pods import Binding
from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod_group import gang_names

MOST_PODS = 256
"""The scheduler binds a pod after its filter, and other schedulers ask about so many pods in between at most."""


class BegunBinds:
    """Of a process. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._asked: OrderedDict[str, Pod] = OrderedDict()
        self._begun: dict[tuple[str, str], Pod] = {}

    def asked_about(self, pod: Pod) -> None:
        """A scheduler asks about this pod."""
        with self._lock:
            self._asked[pod.uid] = pod
            self._asked.move_to_end(pod.uid)
            if len(self._asked) > MOST_PODS:
                self._asked.popitem(last=False)

    @contextmanager
    def begun(self, binding: Binding) -> Iterator[None]:
        """The pod counts on its node until the block ends. A member of a gang does not: it may wait in its bind."""
        key = binding.pod_uid, binding.node
        with self._lock:
            pod = self._asked.get(binding.pod_uid)
            if pod is not None and not gang_names(pod):
                self._begun[key] = replace(pod, node_name=binding.node, nominated_node="")
        try:
            yield
        finally:
            with self._lock:
                self._begun.pop(key, None)

    def pods(self) -> tuple[Pod, ...]:
        """On their nodes. To be read before the tables: what is missing here is there, or was not bound."""
        with self._lock:
            return tuple(self._begun.values())
