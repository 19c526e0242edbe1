"""Errors of `berth config check` for common mistakes: line, path, problem, and allowed values."""

from __future__ import annotations

import pytest

from berth_cli.configuration.document import parse_document
from berth_cli.configuration.field_errors import FieldError

PROFILES = "'label-priority', 'resource-segregation', 'managed-resources', 'full'"


def errors(text: str) -> list[FieldError]:
    result = parse_document(text.encode())
    assert isinstance(result, list)
    return result


@pytest.mark.parametrize(
    ("text", "line", "field", "message"),
    [
        pytest.param(
            "kind: BerthConfiguration\npluginConfigs: []",
            2,
            "pluginConfigs",
            "unknown field; did you mean `pluginConfig`? allowed: apiVersion, kind, ",
            id="a misspelt field",
        ),
        pytest.param(
            "pluginConfig:\n- name: NodePriorityLabel\n  args:\n    labl: rank",
            4,
            "pluginConfig[0].args.labl",
            "unknown field; did you mean `label`? allowed: label",
            id="a misspelt argument",
        ),
        pytest.param(
            "pluginConfig:\n- name: NodePriorityLabel\n  label: rank",
            3,
            "pluginConfig[0].label",
            "unknown field; `label` belongs under `args`; allowed: name, args",
            id="an argument beside the name",
        ),
        pytest.param(
            "exempt:\n  managedResources: []",
            2,
            "exempt.managedResources",
            "unknown field; `managedResources` belongs at the top level; allowed: daemonSets, ",
            id="a field of the top level",
        ),
        pytest.param(
            "profile: mine\ndefinitions:\n  my-profile: {extends: full}",
            1,
            "profile",
            f"Input should be {PROFILES}, 'my-profile'; found the string 'mine'",
            id="a profile that is not defined",
        ),
        pytest.param(
            "definitions:\n  mine:\n    extends: full\n    plugins:\n      enabled:\n      - name: NodeLabelPriority",
            6,
            "definitions.mine.plugins.enabled[0].name",
            "; found the string 'NodeLabelPriority'; did you mean `NodePriorityLabel`?",
            id="a misspelt plugin",
        ),
        pytest.param(
            "managedResources:\n- name: licence",
            2,
            "managedResources[0].name",
            "such as 'example.com/licence'; found the string 'licence'",
            id="a resource without a domain",
        ),
        pytest.param(
            "managedResources:\n- name: example.com/a\n  capacity: {nodeLabel: a, nodeAnnotation: b}",
            3,
            "managedResources[0].capacity",
            "Input should have exactly one of value, allocatable, nodeLabel, nodeAnnotation",
            id="an extra field",
        ),
        pytest.param(
            "profile: mine\ndefinitions:\n  mine:\n    plugins:\n      enabled: [{name: 'berth_plugins.team:Team'}]",
            5,
            "definitions.mine.plugins.enabled[0].name",
            "give the command --plugins DIR with the module",
            id="a custom plugin that is not installed",
        ),
        pytest.param(
            "profiles:\n  my.scheduler/x: fast",
            2,
            "profiles[my.scheduler/x]",
            f"Input should be {PROFILES}; found the string 'fast'",
            id="a key with dots",
        ),
    ],
)
def test_error_names_line_path_problem_and_remedy(text: str, line: int, field: str, message: str) -> None:
    [found] = errors(text)
    assert (found.line, found.field) == (line, field)
    assert message in found.message


def test_lists_errors_in_line_order() -> None:
    text = "profile: x\nnodeCache: {maxStaleness: no}\nkind: Y\npluginConfig: 3"
    assert [each.line for each in errors(text)] == [1, 2, 3, 4]
