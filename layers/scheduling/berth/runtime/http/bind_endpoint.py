"""The bind function's endpoint: it connects to the cluster, reads counted resources and limits, and answers."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import cached_property

from berth.configuration.counting_loss import CountingLost
from berth.configuration.store import ConfigurationInvalid
from berth.extender.bind import answer_bind, failed
from berth.extender.deadline import Deadline
from berth.extender.outcomes import Failure, FailureOutcome
from berth.extender.ports import CountingRight, PodBinder
from berth.extender.prepared_bind import NO_RULES, BindRules
from berth.extender.reply import Reply
from berth.ledger_holder.bind_check import LedgerHolderCheck
from berth.nodecache.bounded_reads import BoundedReads, DeadlinePassed
from berth.nodecache.feed.cluster import ClusterUnavailable
from berth.nodecache.feed.table import TableUnavailable
from berth.runtime.bind_adapters import BindAdapters, bind_adapters
from berth.runtime.cluster import connect, import_kubeconfig
from berth.runtime.http.endpoint import EndpointSettings, VerbEndpoint
from berth.runtime.settings import BindSettings

DEADLINE_PASSED = (
    "the time for the answer was over before the configuration and the credentials were read: a cold start, or a slow "
    "table"
)


def bind_endpoint(endpoint: EndpointSettings, settings: BindSettings) -> VerbEndpoint:
    """The endpoint that these settings describe. Building it reads nothing."""
    import_kubeconfig(settings)
    handler = BindHandler(settings, bind_adapters(settings))
    return VerbEndpoint("bind", endpoint, handler.answer, failed, handler.warm_up)


class BindHandler:
    """Binds in the cluster that the settings name."""

    def __init__(self, settings: BindSettings, adapters: BindAdapters) -> None:
        self._settings = settings
        self._adapters = adapters
        self._reads = BoundedReads()

    def answer(self, body: str | bytes, deadline: Deadline) -> Reply:
        """ExtenderBindingArgs in, ExtenderBindingResult out, before the deadline."""
        try:
            rules, binder = self._reads.before(deadline, self._connected)
        except DeadlinePassed:
            return failed(Failure(FailureOutcome.CACHE_UNAVAILABLE, DEADLINE_PASSED))
        except ClusterUnavailable as error:
            return failed(Failure(FailureOutcome.CLUSTER_UNAVAILABLE, str(error)))
        except CountingLost as error:
            return failed(Failure(FailureOutcome.COUNTING_LOST, str(error)))
        except (TableUnavailable, ConfigurationInvalid) as error:
            reason = f"Berth does not know which resources are counted: {error}"
            return failed(Failure(FailureOutcome.CACHE_UNAVAILABLE, reason))
        return answer_bind(body, binder, deadline, rules)

    def warm_up(self) -> int:
        """Connect, and read what is counted; bind has no snapshot, so the version is 0.

        What fails here fails again in the next call, which reports it.
        """
        with suppress(ClusterUnavailable, CountingLost, TableUnavailable, ConfigurationInvalid):
            self._connected()
        return 0

    def _connected(self) -> tuple[BindRules, PodBinder]:
        """Raises ClusterUnavailable, CountingLost, TableUnavailable and ConfigurationInvalid."""
        counting = self._adapters.configuration
        rules = NO_RULES if counting is None else self._with_right(counting.current())
        return rules, connect(self._settings).binder

    def _with_right(self, rules: BindRules) -> BindRules:
        return rules if rules.counted is None else replace(rules, counted=replace(rules.counted, right=self._right))

    @cached_property
    def _right(self) -> CountingRight | None:
        lease = connect(self._settings).ledger_lease
        identity = self._adapters.identity
        return None if lease is None or identity is None else LedgerHolderCheck(lease, identity)
