"""The BerthConfiguration document: the profiles of pods, the plugins' arguments, and all other settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Annotated, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from berth.scheduling.configuration.plugin_config import (
    ALL_PLUGINS,
    PluginConfig,
    PluginName,
    PluginNameOrAll,
    build_plugin,
)
from berth.scheduling.evaluation.evaluation_cache import MAX_BYTES
from berth.scheduling.evaluation.time_limit import NO_TIME_LIMIT, TimeLimit
from berth.scheduling.feasibility import Exemption, Unresolvable
from berth.scheduling.framework.profile import Profile, Scale
from berth.scheduling.framework.shipped_profiles import (
    COUNTED_FILTER,
    FLOATING_FILTER,
    LABEL_PRIORITY,
    SCHEDULER_FILTERS,
    SHIPPED,
    Composition,
    build,
)
from berth.scheduling.gangs.gang import GangsConfiguration
from berth.scheduling.managed_resources.configuration import ManagedResources
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.plugins.custom_plugins import PATTERN
from berth.scheduling.policy import Policy
from berth.scheduling.preemption.priority import PreemptionConfiguration

EVENTUAL_READ_SECONDS = 1.0
"""The age of a write, in seconds, above which an eventually consistent read of DynamoDB usually returns it."""


class WhenStale(StrEnum):
    """The answer of a verb on old data. FAIL: an error with the data's time. PASS: a decision on the request alone."""

    FAIL = "fail"
    PASS = "pass"  # noqa: S105  # not a password


class WakeUp(StrEnum):
    """The object that the watcher patches so that the scheduler tries rejected pods again (fact 43). OBJECT: an unused
    CSIStorageCapacity. NONE: the watcher does not patch, and the pods wait for the scheduler's flush."""

    OBJECT = "object"
    NONE = "none"


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class NodeCacheConfiguration(_Document):
    """The section `nodeCache`; times are in seconds. docs/reference/configuration.md describes each field."""

    max_staleness: float = Field(default=180, gt=0, le=86_400, alias="maxStaleness", allow_inf_nan=False, strict=True)
    when_stale: WhenStale = Field(default=WhenStale.FAIL, alias="whenStale")
    min_head_read_interval: float = Field(
        default=0, ge=0, le=60, alias="minHeadReadInterval", allow_inf_nan=False, strict=True
    )
    eventually_consistent: bool = Field(default=False, alias="eventuallyConsistent", strict=True)
    wake_up: WakeUp = Field(default=WakeUp.OBJECT, alias="wakeUp")

    @property
    def readable_after(self) -> float:
        """Return how long after a publication a verb may still use the previous state, in seconds."""
        return max(self.min_head_read_interval, EVENTUAL_READ_SECONDS if self.eventually_consistent else 0.0)


class Decisions(StrEnum):
    """The destination of decision records. OFF: nothing is recorded. MEMORY: the process keeps the latest records. LOG:
    a log line for one in a hundred decisions. TABLE: an item in the cache table. FILE: a line in a file of `berth
    serve`."""

    OFF = "off"
    MEMORY = "memory"
    LOG = "log"
    TABLE = "table"
    FILE = "file"


def _off(value: object) -> object:
    """Return OFF for False: some YAML parsers read `off` as false."""
    return Decisions.OFF if value is False else value


DecisionsField = Annotated[Decisions, BeforeValidator(_off)]


Names = Annotated[frozenset[str], Field(min_length=1)]


class BindConfiguration(_Document):
    """The section `bind`. namespaces: the namespaces of the pods that bind accepts; by default all. Only the deployment
    names the schedulers, because a document must not extend bind to the pods of the cluster's own scheduler."""

    namespaces: Names | None = None

    def covers_namespace(self, namespace: str) -> bool:
        return self.namespaces is None or namespace in self.namespaces


def _unknown(known: Iterable[str]) -> PydanticCustomError:
    expected = ", ".join(f"'{each}'" for each in known)
    return PydanticCustomError("profile_name", "Input should be {expected}", {"expected": expected})


def _exists(name: str, info: ValidationInfo) -> str:
    # Names cannot be checked without valid definitions.
    definitions = info.data.get("definitions")
    if definitions is not None and name not in SHIPPED and name not in definitions:
        raise _unknown((*SHIPPED, *definitions))
    return name


def _shipped(name: str) -> str:
    if name not in SHIPPED:
        raise _unknown(SHIPPED)
    return name


def _new(name: str) -> str:
    if name in SHIPPED:
        raise PydanticCustomError("taken", "{name} is the name of a profile that comes with Berth", {"name": name})
    return name


ProfileName = Annotated[str, AfterValidator(_exists)]
"""The name of an existing profile. The document validates `definitions` first."""

ShippedName = Annotated[str, AfterValidator(_shipped), WithJsonSchema({"type": "string", "enum": list(SHIPPED)})]

NewName = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"), AfterValidator(_new)]


class EnabledPlugin(_Document):
    """A plugin that a profile adds, or whose weight it changes. `weight` has an effect only if the plugin scores."""

    name: PluginName
    weight: int = Field(default=1, ge=1, le=100, strict=True)


class DisabledPlugin(_Document):
    """A plugin that a profile leaves out; `*` stands for all plugins of the extended profile."""

    name: PluginNameOrAll


N = TypeVar("N", EnabledPlugin, PluginConfig)


def _refuse_repeated(items: tuple[N, ...]) -> tuple[N, ...]:
    """Return the items. Raises ValidationError with the index of each repeated name."""
    names = [each.name for each in items]
    repeated = [index for index, name in enumerate(names) if name in names[:index]]
    if repeated:
        raise ValidationError.from_exception_data(
            "names",
            [
                InitErrorDetails(
                    type=PydanticCustomError("repeated", "{name} is there more than once", {"name": names[index]}),
                    loc=(index, "name"),
                    input=names[index],
                )
                for index in repeated
            ],
        )
    return items


class PluginSet(_Document):
    """The differences of a profile from the profile that it extends, as in KubeSchedulerConfiguration."""

    enabled: Annotated[tuple[EnabledPlugin, ...], AfterValidator(_refuse_repeated)] = ()
    disabled: tuple[DisabledPlugin, ...] = ()


PluginConfigs = Annotated[tuple[PluginConfig, ...], AfterValidator(_refuse_repeated)]


class ProfileDefinition(_Document):
    """A profile that a user defines. scores: the scale of prioritize's scores."""

    extends: ShippedName | None = None
    plugins: PluginSet = PluginSet()
    plugin_config: PluginConfigs = Field(default=(), alias="pluginConfig")
    scores: Scale | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        composition = self.composition()
        if not composition.plugins:
            raise PydanticCustomError("no_plugins", "the profile has no plugins")
        # TaintToleration's raw score counts untolerated PreferNoSchedule taints; only normalization reverses it.
        if composition.scale is Scale.AS_IS and "TaintToleration" in composition.plugins:
            raise PydanticCustomError("as_is", "TaintToleration cannot score with 'scores: as-is'; use 'totals'")
        return self

    def composition(self) -> Composition:
        """Return the extended profile's remaining plugins, then the added plugins. A plugin in both keeps its place."""
        base = Composition() if self.extends is None else SHIPPED[self.extends]
        disabled = {each.name for each in self.plugins.disabled}
        kept = {} if ALL_PLUGINS in disabled else base.plugins
        found = {name: weight for name, weight in kept.items() if name not in disabled}
        found |= {each.name: each.weight for each in self.plugins.enabled}
        return Composition(found, base.scale if self.scores is None else self.scores)


class BerthConfiguration(_Document):
    """All settings of Berth's behavior. profile: the profile of every pod whose schedulerName is not in `profiles`.
    pluginConfig: arguments for all profiles; the arguments in a definition take precedence."""

    api_version: Literal["berth.dev/v1alpha1"] = Field(default="berth.dev/v1alpha1", alias="apiVersion")
    kind: Literal["BerthConfiguration"] = "BerthConfiguration"
    definitions: dict[NewName, ProfileDefinition] = Field(
        default_factory=dict, json_schema_extra={"additionalProperties": False}
    )
    profile: ProfileName = LABEL_PRIORITY
    profiles: dict[str, ProfileName] = Field(default_factory=dict)
    plugin_config: PluginConfigs = Field(default=(), alias="pluginConfig")
    exempt: Exemption = Exemption()
    bind: BindConfiguration = BindConfiguration()
    preemption: PreemptionConfiguration = PreemptionConfiguration()
    unresolvable: Unresolvable = Unresolvable.ALWAYS
    managed_resources: ManagedResources = Field(default=(), alias="managedResources")
    gangs: GangsConfiguration = GangsConfiguration()
    node_cache: NodeCacheConfiguration = Field(default=NodeCacheConfiguration(), alias="nodeCache")
    decisions: DecisionsField | None = None

    @property
    def names_custom_plugins(self) -> bool:
        return any(
            PATTERN.fullmatch(plugin.name) for one in self.definitions.values() for plugin in one.plugins.enabled
        )

    @property
    def counting(self) -> Counting:
        return Counting(self.managed_resources)

    def policy(self, remembered_bytes: int = MAX_BYTES, time_limit: TimeLimit = NO_TIME_LIMIT) -> Policy:
        """Return the policy that this document describes. remembered_bytes, time_limit: see Policy."""
        counting = self.counting
        profiles = {name: self.build_profile(name, counting) for name in {self.profile, *self.profiles.values()}}
        by_scheduler = {scheduler: profiles[name] for scheduler, name in self.profiles.items()}
        # Build the profiles for planning only if gangs are enabled: they import nearly all plugins.
        planned = profiles if self.gangs.enabled else {}
        return Policy(
            profiles[self.profile],
            self.exempt,
            by_scheduler,
            counting=counting,
            preemption=self.preemption,
            unresolvable=self.unresolvable,
            gangs=self.gangs,
            planning_profiles={name: self._for_planning(each, counting) for name, each in planned.items()},
            remembered_bytes=remembered_bytes,
            time_limit=time_limit,
        )

    def _for_planning(self, profile: Profile, counting: Counting) -> Profile:
        """Return the profile, extended by the filters of kube-scheduler that it lacks. The scheduler has run these
        filters only for one member, but a plan must check all members."""
        has = {each.name for each in profile.filters}
        wanted = [*SCHEDULER_FILTERS, *([COUNTED_FILTER] if counting.counts else [])]
        wanted += [FLOATING_FILTER] if counting.floating.exist else []
        missing = [
            (build_plugin(name, self.plugin_config).with_counting(counting), 1) for name in wanted if name not in has
        ]
        return profile.with_filters(build(profile.name, profile.scale, missing).filters)

    def composition(self, name: str) -> Composition:
        definition = self.definitions.get(name)
        return SHIPPED[name] if definition is None else definition.composition()

    def build_profile(self, name: str, counting: Counting | None = None) -> Profile:
        """Return a profile, with its plugins built from their arguments. counting: by default the document's."""
        counting = counting or self.counting
        definition = self.definitions.get(name)
        composition = self.composition(name)
        configs = (*self.plugin_config, *(() if definition is None else definition.plugin_config))
        named = dict(composition.plugins)
        if COUNTED_FILTER in named and counting.floating.exist:
            named.setdefault(FLOATING_FILTER, 1)
        plugins = [(build_plugin(each, configs).with_counting(counting), weight) for each, weight in named.items()]
        return build(name, composition.scale, plugins)


def validation_messages(error: ValidationError) -> Iterator[str]:
    """Yield one line for each cause: the paths of the invalid fields, and the expected values."""
    fields: dict[str, list[str]] = {}
    for detail in error.errors():
        fields.setdefault(detail["msg"], []).append(".".join(map(str, detail["loc"])) or "document")
    for message, paths in fields.items():
        yield f"{', '.join(paths)}: {message}"
