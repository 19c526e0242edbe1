"""Settings of a function from its environment variables: names of resources. BerthConfiguration defines the behavior.

They are read once, when the environment starts. An error names the variable.
"""

from __future__ import annotations

from dataclasses import dataclass

from berth.authentication.outcomes import Authentication
from berth.configuration.store import parsed
from berth.runtime.environment import SchedulerSettings, one_of, variable
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.evaluation.evaluation_cache import MAX_BYTES


@dataclass(frozen=True, kw_only=True)
class PolicySettings(SchedulerSettings):
    cache_table: str = variable("BERTH_CACHE_TABLE")
    ledger_table: str = variable("BERTH_LEDGER_TABLE", default="")
    """Empty without a ledger: then resources are not counted."""

    configuration: str = variable("BERTH_CONFIGURATION", default="")
    """The BerthConfiguration that is in force until one is applied, as JSON. It is validated on first use: a verb could
    not report the error to the scheduler if its environment did not start."""

    memory_size: int = variable("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", read=int, default=0)
    """The function's memory in MB; 0 outside of Lambda."""

    authentication: Authentication | None = variable("BERTH_AUTHENTICATION", read=one_of(*Authentication), default=None)
    """The authentication of callers; None if `berth serve` does not check them."""

    @property
    def remembered_bytes(self) -> int:
        """Return how many bytes cached verdicts about pods may take: in Lambda an eighth of the function's memory."""
        return (self.memory_size << 20) // 8 if self.memory_size else MAX_BYTES

    @property
    def decision_seconds(self) -> float:
        """Return how many seconds a decision may take: two fifths of the httpTimeout, 4 s at most. A cold start and the
        network need the rest, and the scheduler's other pods wait for the decision."""
        return 0.4 * min(self.http_timeout, 10.0)

    @property
    def password_in_url(self) -> bool:
        """Return whether the scheduler prints a password with every answer that is not 200 (facts 28 and 37)."""
        return self.authentication is Authentication.BASIC


def deployed(configuration: str) -> BerthConfiguration:
    """Parse the value of BERTH_CONFIGURATION. Raises ConfigurationInvalid."""
    return parsed(configuration, "BERTH_CONFIGURATION") if configuration else BerthConfiguration()
