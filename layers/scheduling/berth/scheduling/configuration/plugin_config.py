"""`pluginConfig`: arguments for plugins by name, as in KubeSchedulerConfiguration."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, to_json

from berth.scheduling.framework.plugin import Plugin, PluginFailed
from berth.scheduling.plugins.arguments import Args
from berth.scheduling.plugins.custom_plugins import (
    PACKAGE,
    PATTERN,
    NotAPlugin,
    built_plugin,
    call,
    custom_plugin,
    description,
)
from berth.scheduling.plugins.registry import SHIPPED_PLUGINS, PluginFactory, shipped_plugin


def plugin_factory(name: str) -> PluginFactory:
    """Return the factory of a shipped or custom plugin. Raises NotAPlugin."""
    return shipped_plugin(name) if name in SHIPPED_PLUGINS else custom_plugin(name)


def _known(name: str) -> str:
    if name not in SHIPPED_PLUGINS and PATTERN.fullmatch(name) is None:
        expected = ", ".join(f"'{each}'" for each in SHIPPED_PLUGINS)
        raise PydanticCustomError(
            "plugin_name",
            "Input should be {expected} or a custom plugin, '{package}.<module>:<Class>'",
            {"expected": expected, "package": PACKAGE},
        )
    try:
        plugin_factory(name)
    except NotAPlugin as error:
        raise PydanticCustomError("plugin", "{reason}", {"reason": str(error)}) from error
    return name


ALL_PLUGINS = "*"
_CUSTOM: JsonSchemaValue = {"type": "string", "pattern": f"^{PATTERN.pattern}$"}

_NAMES: list[JsonSchemaValue] = [{"type": "string", "enum": list(SHIPPED_PLUGINS)}, _CUSTOM]

PluginName = Annotated[str, AfterValidator(_known), WithJsonSchema({"anyOf": _NAMES})]
PluginNameOrAll = Annotated[
    str,
    AfterValidator(lambda name: name if name == ALL_PLUGINS else _known(name)),
    WithJsonSchema({"anyOf": [*_NAMES, {"const": ALL_PLUGINS, "type": "string"}]}),
]


class PluginConfig(BaseModel):
    """A plugin and its arguments. The plugin's type of arguments validates them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: PluginName
    args: Any = Field(default=None, validate_default=True)

    @field_validator("args")
    @classmethod
    def _args_are_the_plugins(cls, args: Any, info: ValidationInfo) -> Any:
        if "name" not in info.data:
            return args
        kind = plugin_factory(info.data["name"]).args
        if isinstance(args, kind):
            return args
        # Strict validation of JSON accepts a list for a set, but rejects a string for a number.
        text = to_json({} if args is None else args, fallback=str)
        try:
            return kind.model_validate_json(text, strict=True, by_alias=True, by_name=False)
        except (ValidationError, KeyboardInterrupt):
            raise
        except BaseException as error:
            # A validator of a custom plugin raised another exception.
            raise PydanticCustomError("plugin", "{reason}", {"reason": description(error)}) from error

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Return one alternative per plugin. Validation selects the type of arguments by the plugin's name."""
        known = [
            _alternative({"const": name}, handler(shipped_plugin(name).args.__pydantic_core_schema__))
            for name in SHIPPED_PLUGINS
        ]
        custom = _alternative(_CUSTOM, {"type": "object"})
        return {"title": "PluginConfig", "description": cls.__doc__, "oneOf": [*known, custom]}


def _alternative(name: JsonSchemaValue, args: JsonSchemaValue) -> JsonSchemaValue:
    return {
        "type": "object",
        "properties": {"name": name, "args": args},
        "required": ["name"],
        "additionalProperties": False,
    }


def build_plugin(name: str, configs: Iterable[PluginConfig]) -> Plugin:
    """Build the plugin with the arguments of its last configuration, or with the defaults. Raises PluginFailed if a
    custom plugin cannot be built, or needs arguments."""
    found = plugin_factory(name)
    args = [config.args for config in configs if config.name == name]
    return built_plugin(name, found.plugin, args[-1] if args else _default_args(name, found.args))


def _default_args(name: str, kind: type[Args]) -> Args:
    def default() -> Args:
        try:
            return kind()
        except ValidationError as error:
            missing = ", ".join(".".join(map(str, detail["loc"])) for detail in error.errors())
            raise PluginFailed(name, "Args", f"it needs arguments in pluginConfig: {missing}") from error

    args: Args = call(name, "Args", default)
    return args
