"""The object that the watcher patches to wake the scheduling queue."""

from __future__ import annotations

PATH = "/apis/storage.k8s.io/v1/namespaces/kube-system/csistoragecapacities/berth-wake"
