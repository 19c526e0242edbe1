"""What `berth config check` says about a newcomer's mistakes: line, path, finding, what may stand there, an example."""

from __future__ import annotations

import re

import pytest
import yaml

from berth_cli.configuration.document import ValidDocument, parse_document
from berth_cli.configuration.field_errors import FieldError
from berth_cli.configuration.schema import schema_document
from tests.builders.json_schema import violations

PROFILES = "'label-priority', 'resource-segregation', 'managed-resources', 'full'"


def errors(text: str) -> list[FieldError]:
    result = parse_document(text.encode())
    assert isinstance(result, list)
    return result


@pytest.mark.parametrize(
    ("text", "line", "field", "message", "example"),
    [
        pytest.param(
            "kind: BerthConfiguration\npluginConfigs: []",
            2,
            "pluginConfigs",
            "unknown field; did you mean `pluginConfig`? allowed: apiVersion, kind, ",
            "pluginConfig: [{name: NodePriorityLabel, args: {label: example.com/rank}}]",
            id="a misspelt field",
        ),
        pytest.param(
            "pluginConfig:\n- name: NodePriorityLabel\n  args:\n    labl: rank",
            4,
            "pluginConfig[0].args.labl",
            "unknown field; did you mean `label`? allowed: label",
            "label: example.com/rank",
            id="a misspelt argument",
        ),
        pytest.param(
            "pluginConfig:\n- name: NodePriorityLabel\n  label: rank",
            3,
            "pluginConfig[0].label",
            "unknown field; `label` belongs under `args`; allowed: name, args",
            "pluginConfig: [{name: NodePriorityLabel, args: {label: example.com/rank}}]",
            id="an argument beside the name",
        ),
        pytest.param(
            "exempt:\n  managedResources: []",
            2,
            "exempt.managedResources",
            "unknown field; `managedResources` belongs at the top level; allowed: daemonSets, ",
            "managedResources: [{name: example.com/licence, capacity: {nodeLabel: example.com/licences}}]",
            id="a field of the top level",
        ),
        pytest.param(
            "profile: mine\ndefinitions:\n  my-profile: {extends: full}",
            1,
            "profile",
            f"Input should be {PROFILES}, 'my-profile'; found the string 'mine'",
            "profile: label-priority",
            id="a profile that is not defined",
        ),
        pytest.param(
            "definitions:\n  mine:\n    extends: full\n    plugins:\n      enabled:\n      - name: NodeLabelPriority",
            6,
            "definitions.mine.plugins.enabled[0].name",
            "; found the string 'NodeLabelPriority'; did you mean `NodePriorityLabel`?",
            "name: NodeReady",
            id="a misspelt plugin",
        ),
        pytest.param(
            "managedResources:\n- name: licence",
            2,
            "managedResources[0].name",
            "such as 'example.com/licence'; found the string 'licence'",
            "name: example.com/licence",
            id="a resource without a domain",
        ),
        pytest.param(
            "managedResources:\n- name: example.com/a\n  capacity: {nodeLabel: a, nodeAnnotation: b}",
            3,
            "managedResources[0].capacity",
            "Input should have exactly one of allocatable, nodeLabel, nodeAnnotation",
            "capacity: {nodeLabel: example.com/licences}",
            id="one field too many",
        ),
        pytest.param(
            "profile: mine\ndefinitions:\n  mine:\n    plugins:\n      enabled: [{name: 'berth_plugins.team:Team'}]",
            5,
            "definitions.mine.plugins.enabled[0].name",
            "give the command --plugins DIR with the module",
            "name: NodeReady",
            id="a plugin of one's own that is not installed",
        ),
        pytest.param(
            "profiles:\n  my.scheduler/x: fast",
            2,
            "profiles[my.scheduler/x]",
            f"Input should be {PROFILES}; found the string 'fast'",
            "profiles: {batch-scheduler: resource-segregation}",
            id="a key with dots",
        ),
    ],
)
def test_names_line_path_finding_remedy_and_example(
    text: str, line: int, field: str, message: str, example: str
) -> None:
    [found] = errors(text)
    assert (found.line, found.field, found.example) == (line, field, example)
    assert message in found.message


def test_lists_errors_in_the_order_of_their_lines() -> None:
    text = "profile: x\nnodeCache: {maxStaleness: no}\nkind: Y\npluginConfig: 3"
    assert [each.line for each in errors(text)] == [1, 2, 3, 4]


SCHEMA = schema_document()
TITLED = {title: each for title, each in SCHEMA["$defs"].items() if each.get("properties")}


@pytest.mark.parametrize("title", TITLED)
def test_every_object_has_a_valid_example(title: str) -> None:
    [example] = TITLED[title]["examples"]
    assert violations(example, {"$ref": f"#/$defs/{title}", "$defs": SCHEMA["$defs"]}) == []


def test_example_of_the_whole_document_is_valid() -> None:
    [example] = SCHEMA["examples"]
    assert isinstance(parse_document(yaml.safe_dump(example).encode()), ValidDocument)


def test_examples_fit_on_a_line() -> None:
    text = "pluginConfigs: []\nexempt: 3\nmanagedResources: 3\ndefinitions: 3\nnodeCache: 3"
    assert all(re.fullmatch(r"\w+: .{1,120}", each.example) for each in errors(text))
