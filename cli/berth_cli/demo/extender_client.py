"""An HTTP client of the extender's verbs, in node-cache mode as kube-scheduler calls them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import orjson
import urllib3
from pydantic import BaseModel, Field, TypeAdapter


class FilterResult(BaseModel):
    """The response of filter: the remaining node names, and the reasons of the rejected nodes."""

    names: list[str] = Field(alias="NodeNames")
    unresolvable: dict[str, str] = Field(alias="FailedAndUnresolvableNodes")


class _HostPriority(BaseModel):
    host: str = Field(alias="Host")
    score: int = Field(alias="Score")


_HOST_PRIORITY_LIST = TypeAdapter(list[_HostPriority])

Manifest = Mapping[str, object]
"""A complete v1.Pod."""


class ExtenderFailed(Exception):
    """The extender returned an Error or a status other than 200."""


class ExtenderClient:
    """Calls one extender. Every method raises ExtenderFailed."""

    def __init__(self, url_prefix: str) -> None:
        self._url_prefix = url_prefix
        self._http = urllib3.PoolManager()

    def filter(self, pod: Manifest, names: Sequence[str], verb: str = "filter") -> FilterResult:
        """`verb`: filter or filter_onlyone."""
        return FilterResult.model_validate_json(self._call(verb, _arguments(pod, names)))

    def prioritize(self, pod: Manifest, names: Sequence[str]) -> dict[str, int]:
        """Scores by name."""
        hosts = _HOST_PRIORITY_LIST.validate_json(self._call("prioritize", _arguments(pod, names)))
        return {host.host: host.score for host in hosts}

    def bind(self, namespace: str, name: str, uid: str, node: str) -> None:
        """Creates the Binding."""
        self._call("bind", {"PodName": name, "PodNamespace": namespace, "PodUID": uid, "Node": node})

    def _call(self, verb: str, arguments: Mapping[str, object]) -> bytes:
        response = self._http.request(
            "POST",
            f"{self._url_prefix}/{verb}",
            body=orjson.dumps(arguments),
            headers={"Content-Type": "application/json"},
        )
        answer = orjson.loads(response.data)
        error = answer.get("Error") if isinstance(answer, dict) else ""
        if response.status != 200 or error:
            raise ExtenderFailed(f"{verb}: {error or response.status}")
        return response.data


def _arguments(pod: Manifest, names: Sequence[str]) -> dict[str, object]:
    return {"Pod": pod, "Nodes": None, "NodeNames": list(names)}
