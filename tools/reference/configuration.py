"""Generates docs/reference/configuration.md: every field of a BerthConfiguration document, from its JSON Schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from berth.scheduling.framework.shipped_profiles import SHIPPED
from berth_cli.configuration.schema import schema_document
from tools.reference.markdown import code, page, paragraph, table

Schema = Mapping[str, Any]

INTRODUCTION = """One YAML document decides how Berth places pods. `berth serve --config`, `berth simulate --config` and
`berth config apply` take the same document. [Write a policy](../how-to/policies.md) shows how to use it.
[configuration.schema.json](../configuration.schema.json) is the same reference as JSON Schema, for editors;
`berth config schema` prints it.

An invalid document is refused as a whole, with one line for each wrong field: an unknown field, a wrong type (`"3"` is
not a number), a key that occurs twice, more than one YAML document. The schema cannot check names that a document
defines (`definitions`) or the arguments of your own plugins; `berth config check` checks them too."""

PROFILES = """You do not have to define these profiles. `full` is for `berth simulate`. In a cluster, kube-scheduler has
already applied its rules on fresher data before it asks Berth, and `full` does not check volumes or dynamic
resources."""

PLUGINS = """`pluginConfig` is a list. Each entry has a `name` and `args`. Plugins of kube-scheduler have the names,
rules and arguments of kube-scheduler 1.36 and KubeSchedulerConfiguration v1. NodePriorityLabel, ResourceSegregation,
ManagedResources and NodeReady are Berth's own. Your own plugin has the name `berth_plugins.<module>:<Class>` and
arguments that it defines ([Write a plugin](../how-to/custom-plugin.md)). Plugins without arguments: {without}."""


SCHEMA: Schema = schema_document()
OBJECTS: Mapping[str, Schema] = SCHEMA["$defs"]
MAX_VALUES = 8
"""The maximum length of a printed list of values. Only the list of plugin names is longer: the page links to it."""


def configuration() -> str:
    """Return the page. Objects are in the order of their first reference in the document."""
    objects = [SCHEMA, *(OBJECTS[title] for title in _reachable(SCHEMA))]
    document = [part for each in objects for part in _object(each)]
    source = "the models in layers/scheduling/berth and cli/berth_cli/configuration/field_descriptions.yaml"
    profiles = ("## Built-in profiles", PROFILES, _profiles())
    return page("Configuration", source, (INTRODUCTION, *document, *profiles, *_plugins()))


def _plugins() -> Iterator[str]:
    found = [each["properties"] for each in OBJECTS["PluginConfig"]["oneOf"]]
    args = {each["name"]["const"]: _resolved(each["args"]) for each in found if "const" in each["name"]}
    yield "## Plugins and their arguments"
    yield paragraph(PLUGINS.format(without=", ".join(name for name, each in args.items() if not each["properties"])))
    shown: list[str] = []
    for name, each in args.items():
        if each["properties"]:
            yield f"### {name}"
            yield _fields(each)
            for title in _reachable(each):
                if title not in shown:
                    shown.append(title)
                    yield from _object(OBJECTS[title], level=4)


def _profiles() -> str:
    rows = []
    for name, each in SHIPPED.items():
        plugins = (plugin if weight == 1 else f"{plugin} (weight {weight})" for plugin, weight in each.plugins.items())
        rows.append((f"`{name}`", ", ".join(plugins), f"`{each.scale}`"))
    return table(("Profile", "Plugins", "`scores`"), rows)


def _object(schema: Schema, level: int = 2) -> Iterator[str]:
    yield f"{'#' * level} {schema['title']}"
    yield schema["description"]
    yield _fields(schema)


def _fields(schema: Schema) -> str:
    required = schema.get("required", ())
    rows = [
        (f"`{name}`", _type(field), "required" if name in required else _default(field), field["description"])
        for name, field in schema["properties"].items()
    ]
    return table(("Field", "Type", "Default", "Description"), rows)


def _reachable(schema: Schema) -> list[str]:
    """Return the titles of all objects that the schema references, depth first, without plugin arguments."""
    found: list[str] = []

    def visit(each: Any) -> None:
        if isinstance(each, Mapping):
            title = str(each.get("$ref", "")).rpartition("/")[2]
            if title in OBJECTS and "properties" in OBJECTS[title] and title not in found:
                found.append(title)
                visit(OBJECTS[title]["properties"])
            for key, inner in each.items():
                if key not in ("$defs", "default"):
                    visit(inner)
        elif isinstance(each, list):
            for inner in each:
                visit(inner)

    visit(schema["properties"])
    return found


def _resolved(schema: Schema) -> Schema:
    reference = schema.get("$ref")
    return schema if reference is None else OBJECTS[reference.rpartition("/")[2]]


def _type(field: Schema) -> str:
    if "$ref" in field:
        title = field["$ref"].rpartition("/")[2]
        values = OBJECTS[title].get("enum")
        return _values(values) if values else f"[{title}](#{_anchor(title)})"
    if "anyOf" in field:
        found = [_type(each) for each in field["anyOf"] if each.get("type") != "null"]
        return " or ".join(dict.fromkeys(found))
    if "const" in field:
        return code(field["const"])
    if "enum" in field:
        return _values(field["enum"])
    return _plain_type(field)


def _plain_type(field: Schema) -> str:
    kind = str(field["type"])
    if kind == "array":
        return f"list of {_type(field['items'])}"
    if kind == "object":
        values = [*field.get("patternProperties", {}).values(), field.get("additionalProperties")]
        inner = next((each for each in values if isinstance(each, Mapping)), None)
        return "mapping" if inner is None else f"mapping to {_type(inner)}"
    return kind + _range(field)


def _range(field: Schema) -> str:
    least, above, most = field.get("minimum"), field.get("exclusiveMinimum"), field.get("maximum")
    if most is not None:
        return f", {least} to {most}" if above is None else f", above {above} and up to {most}"
    return "" if least is None else f", at least {least}"


def _values(values: list[object]) -> str:
    is_plugin = len(values) > MAX_VALUES
    return "[name of a plugin](#plugins-and-their-arguments)" if is_plugin else ", ".join(map(code, values))


def _anchor(title: str) -> str:
    return "plugins-and-their-arguments" if title == "PluginConfig" else title.lower()


def _default(field: Schema) -> str:
    default = field.get("default")
    if "default" not in field:
        return "`{}`" if field.get("type") == "object" else ""
    if default is None:
        return "none"
    # The object's own table contains its defaults.
    return "see there" if isinstance(default, Mapping) else code(default)
