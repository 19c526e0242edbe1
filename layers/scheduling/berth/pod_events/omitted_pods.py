"""Which pods the node cache lacks, in whole or in part: one event for each, at each change, in each leadership.

Apart from pod_event.py: what writes events knows no publication.
"""

from __future__ import annotations

from collections.abc import Iterator

from berth.nodecache.feed.changes import Key, OmissionReason
from berth.nodecache.feed.leader import Publication
from berth.pod_events.pod_event import PodEvent, omission_event, uid_of


class OmittedPods:
    """For one leadership and one thread."""

    def __init__(self) -> None:
        self._known: dict[Key, tuple[str, OmissionReason]] = {}
        """The UID and the reason."""

    def new(self, publication: Publication) -> Iterator[PodEvent]:
        """The events for pods that this publication lacks, and the one before did not."""
        if not publication.omissions and not self._known:
            return
        before, self._known = self._known, {}
        for key, reason in publication.omissions.items():
            pod = publication.objects.get(key)
            if pod is None:
                continue
            known = self._known[key] = uid_of(pod), reason
            if before.get(key) != known:
                event = omission_event(key, pod, reason)
                if event is not None:
                    yield event
