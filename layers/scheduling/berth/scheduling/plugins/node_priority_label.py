"""NodePriorityLabel: scores a node by the integer in its label, and rejects nodes without such an integer."""

from __future__ import annotations

import re
from collections.abc import Hashable

from pydantic import Field

from berth.scheduling.framework.plugin import SUCCESS, FilterPlugin, ScorePlugin, Status, unresolvable
from berth.scheduling.framework.score_scaling import min_max_normalize
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.plugins.arguments import Args
from berth.scheduling.reason_code import ReasonCode
from berth.scheduling.snapshot.parts import NODES_ONLY

NAME = "NodePriorityLabel"

# The reason if the node does not have the label. Evictions do not change labels.
REASON_NO_LABEL = "node(s) didn't have the priority label {}"
# The reason if the label is not an integer.
REASON_NOT_AN_INTEGER = "node(s) had a priority label {} that is not an integer"

_INTEGER = re.compile(r"-?[0-9]{1,15}", re.ASCII)

# The label keys that the API server accepts: an optional DNS prefix, and a name of at most 63 characters.
_LABEL_KEY = r"^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$"


class NodePriorityLabelArgs(Args):
    """The plugin's arguments. label: the key of the label whose integer is the node's score."""

    label: str = Field(default="priority.lixueduan.com", pattern=_LABEL_KEY)


class NodePriorityLabel(FilterPlugin, ScorePlugin):
    """Rejects nodes whose label is missing or not an integer. The integer is the score; it may be above 10 or below 0.
    If the profile's scale is not `as-is`, the scores are normalized: the lowest becomes 0 and the highest 100."""

    name = NAME
    reads = NODES_ONLY
    normalized = True

    def __init__(self, args: NodePriorityLabelArgs) -> None:
        self.label = args.label
        self._no_label = unresolvable(
            NAME, REASON_NO_LABEL.format(args.label), reason_code=ReasonCode.PRIORITY_LABEL_MISSING
        )
        self._not_an_integer = unresolvable(
            NAME, REASON_NOT_AN_INTEGER.format(args.label), reason_code=ReasonCode.PRIORITY_LABEL_NOT_INTEGER
        )

    def filter(self, pod: Pod, node: NodeInfo) -> Status:
        value = node.labels.get(self.label)
        if value is None:
            return self._no_label
        if _INTEGER.fullmatch(value) is None:
            return self._not_an_integer
        return SUCCESS

    def score(self, pod: Pod, node: NodeInfo) -> int:
        return int(node.labels[self.label])

    def normalize(self, scores: list[int]) -> list[int]:
        return min_max_normalize(scores)

    def shape(self, pod: Pod) -> Hashable:
        return ()
