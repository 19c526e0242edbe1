"""The BerthConfiguration document: which profile decides, and with which arguments.

The same document configures the stack and `berth serve`. Errors name the field and, where there is one, the choice.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from berth.scheduling.exemption import Exemption
from berth.scheduling.plugins.node_priority_label import NodePriorityLabel, NodePriorityLabelArgs
from berth.scheduling.policy import Policy
from berth.scheduling.profile import Profile

ProfileName = Literal["label-priority"]


class PluginConfig(BaseModel):
    """Arguments for one plugin, as in KubeSchedulerConfiguration's `pluginConfig`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Literal["NodePriorityLabel"]
    args: NodePriorityLabelArgs


class BerthConfiguration(BaseModel):
    """Everything about Berth's behaviour that an operator chooses."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    api_version: Literal["berth.dev/v1alpha1"] = Field(default="berth.dev/v1alpha1", alias="apiVersion")
    kind: Literal["BerthConfiguration"] = "BerthConfiguration"
    profile: ProfileName = "label-priority"
    plugin_config: tuple[PluginConfig, ...] = Field(default=(), alias="pluginConfig")
    exempt: Exemption = Exemption()

    @model_validator(mode="after")
    def _each_plugin_once(self) -> BerthConfiguration:
        names = [config.name for config in self.plugin_config]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"pluginConfig names {name} more than once")
        return self

    def policy(self) -> Policy:
        """The policy this document describes."""
        args = {config.name: config.args for config in self.plugin_config}
        by_label = NodePriorityLabel(args.get("NodePriorityLabel", NodePriorityLabelArgs()))
        return Policy(Profile(self.profile, (by_label,), ((by_label, 1),)), self.exempt)
