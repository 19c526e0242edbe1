"""What kube-scheduler is told on its command line, since its configuration file has no field for it."""

from __future__ import annotations

BOUNDED_RETRIES = "--feature-gates=SchedulerPopFromBackoffQ=false"
"""Rejected pods then wait for their back-off even while the queue is idle (fact 44)."""


def flags(*, with_password: bool, bounded_retries: bool) -> list[str]:
    """At -v=2 the start-up log prints the urlPrefix, and with it a password in it (fact 37)."""
    verbosity = "-v=1" if with_password else "-v=2"
    return [verbosity, BOUNDED_RETRIES] if bounded_retries else [verbosity]
