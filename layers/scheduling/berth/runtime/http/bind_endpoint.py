"""The bind function's endpoint: it connects to the cluster, reads counted resources and limits, and answers."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cached_property

from berth.configuration.counting import CountingConfiguration
from berth.configuration.counting_loss import CountingLost
from berth.configuration.store import ConfigurationInvalid
from berth.extender.bind import NO_RULES, BindRules, Deadline, answer_bind, failed
from berth.extender.outcomes import Failure, FailureOutcome
from berth.extender.ports import CountingRight
from berth.extender.reply import Reply
from berth.ledger_holder.bind_check import LedgerHolderCheck
from berth.nodecache.feed.cluster import ClusterUnavailable
from berth.nodecache.feed.table import TableUnavailable
from berth.runtime.adapters import counting_configuration, store_identity
from berth.runtime.cluster import connect
from berth.runtime.http.endpoint import Endpoint
from berth.runtime.settings import BindSettings

RESERVE_SECONDS = 1.0
"""Of the scheduler's httpTimeout, for the network and the gateway (fact 23)."""


def bind_endpoint(settings: BindSettings) -> Endpoint:
    """The endpoint that these settings describe. Building it reads nothing."""
    return Endpoint("bind", BindHandler(settings, counting_configuration(settings)).answer, failed)


class BindHandler:
    """Binds in the cluster that the settings name. `configuration`: None where the function has no ledger."""

    def __init__(self, settings: BindSettings, configuration: CountingConfiguration | None) -> None:
        self._settings = settings
        self._configuration = configuration

    def answer(self, body: str | bytes) -> Reply:
        """ExtenderBindingArgs in, ExtenderBindingResult out, within the scheduler's httpTimeout."""
        deadline = Deadline(self._settings.http_timeout - RESERVE_SECONDS, time.monotonic)
        try:
            rules = NO_RULES if self._configuration is None else self._with_right(self._configuration.current())
            binder = connect(self._settings).binder
        except ClusterUnavailable as error:
            return failed(Failure(FailureOutcome.CLUSTER_UNAVAILABLE, str(error)))
        except CountingLost as error:
            return failed(Failure(FailureOutcome.COUNTING_LOST, str(error)))
        except (TableUnavailable, ConfigurationInvalid) as error:
            reason = f"Berth does not know which resources are counted: {error}"
            return failed(Failure(FailureOutcome.CACHE_UNAVAILABLE, reason))
        return answer_bind(body, binder, deadline, rules)

    def _with_right(self, rules: BindRules) -> BindRules:
        return rules if rules.counted is None else replace(rules, counted=replace(rules.counted, right=self._right))

    @cached_property
    def _right(self) -> CountingRight | None:
        lease = connect(self._settings).ledger_lease
        return None if lease is None else LedgerHolderCheck(lease, store_identity(self._settings))
