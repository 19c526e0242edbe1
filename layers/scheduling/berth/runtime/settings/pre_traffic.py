"""What the pre-traffic hook is told by its environment: the verbs' new versions."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from berth.runtime.settings.environment import Settings


class PreTrafficSettings(Settings):
    """Each is the ARN of a published version: the alias still leads to the one before."""

    filter: str = Field(alias="BERTH_FILTER_VERSION")
    filter_onlyone: str = Field(alias="BERTH_FILTER_ONLYONE_VERSION")
    prioritize: str = Field(alias="BERTH_PRIORITIZE_VERSION")
    bind: str = Field(alias="BERTH_BIND_VERSION")
    preempt: str = Field(alias="BERTH_PREEMPT_VERSION")

    @property
    def versions(self) -> Mapping[str, str]:
        """By verb."""
        found: dict[str, str] = self.model_dump()
        return found
