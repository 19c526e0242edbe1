"""How fresh the verbs find the node cache, as metrics."""

from __future__ import annotations

import time

from berth.nodecache.warm_node_cache import Seen
from berth.runtime.telemetry.metrics import COUNT, SECONDS, VERB, Metrics, group

AGE = group([[VERB], []], {"CacheAge": SECONDS})
LAG = group([[VERB]], {"VersionLag": COUNT})


class CacheMetrics:
    """Of one verb."""

    def __init__(self, verb: str) -> None:
        self._verb = verb
        self._metrics = Metrics()

    def seen(self, seen: Seen) -> None:
        """A call has read what is published. Without a lag where there was nothing to compare with."""
        groups, values = [AGE], {"CacheAge": [seen.age]}
        if seen.lag is not None:
            groups.append(LAG)
            values["VersionLag"] = [float(seen.lag)]
        self._metrics.emit(groups, {VERB: self._verb}, values, time.time())
