"""The Helm chart: it renders the objects of the examples and `berth scheduler-config`, and rejects invalid values."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from berth import __version__
from berth_cli.installation.second_scheduler import DEFAULT_SIZE, MEMORY
from berth_cli.main import main
from tests.builders.chart import CHART, HELM, PROJECT, ChartRefused, Key, Values, by_key, rendered

pytestmark = pytest.mark.skipif(not HELM.exists(), reason="helm is not built: make tools (with Go)")

EXAMPLES = PROJECT / "examples"
URL = "https://berth.example.com/scheduler"
CONFIGURATION = (EXAMPLES / "scheduler" / "configuration.yaml").read_text()
STACK: dict[str, Any] = {"scheduler": {"configuration": CONFIGURATION}, "rbac": {"enabled": False}}
IMAGE = "REGISTRY/berth:0.1.0"
SIDECAR: dict[str, Any] = {"sidecar": {"enabled": True, "image": IMAGE}, "rbac": {"enabled": False}}
GANGS = {"apiVersion": "berth.dev/v1alpha1", "kind": "BerthConfiguration", "gangs": {"enabled": True}}
WATCHER: dict[str, Any] = {
    "scheduler": {"enabled": False},
    "rbac": {"enabled": False},
    "watcher": {"enabled": True, "image": IMAGE, "stack": "berth-production", "region": "eu-central-1"},
}
SCHEDULER_IMAGE = "--image=registry.k8s.io/kube-scheduler:v1.36.3"
HASH = "berth.dev/configuration"


def documents_of(*paths: Path) -> list[dict[str, Any]]:
    return [each for path in paths for each in yaml.safe_load_all(path.read_text()) if each is not None]


def comparable(documents: list[dict[str, Any]]) -> dict[Key, dict[str, Any]]:
    """Return the documents by key, with parsed configurations and without the hashes of the configurations."""
    found = by_key(deepcopy(documents))
    for document in found.values():
        if document["kind"] == "ConfigMap":
            document["data"] = {name: yaml.safe_load(text) for name, text in document["data"].items()}
        if document["kind"] == "Deployment":
            metadata = document["spec"]["template"]["metadata"]
            metadata.get("annotations", {}).pop(HASH, None)
            if not metadata.get("annotations"):
                metadata.pop("annotations", None)
    return found


def scheduler_config(*options: str) -> str:
    """Return the command's output for a second scheduler."""
    arguments = ["scheduler-config", f"--url={URL}", "--second-scheduler=berth-scheduler", SCHEDULER_IMAGE, *options]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.parametrize(
    "options",
    [
        pytest.param([], id="defaults"),
        pytest.param(["--tls-secret=client"], id="a client certificate"),
        pytest.param(["--filter-onlyone", "--image=registry.k8s.io/kube-scheduler:v1.34.1"], id="another version"),
        pytest.param(["--cluster-size=large"], id="memory"),
        pytest.param(["--config=COUNTED"], id="counted resources"),
        pytest.param(["--config=GANGS"], id="gangs"),
    ],
)
def test_chart_renders_the_scheduler_printed_by_scheduler_config(options: list[str], tmp_path: Path) -> None:
    gangs = tmp_path / "gangs.yaml"
    gangs.write_text(yaml.safe_dump(GANGS))
    paths = {"COUNTED": str(EXAMPLES / "counted-resources" / "configuration.yaml"), "GANGS": str(gangs)}
    for name, path in paths.items():
        options = [each.replace(name, path) for each in options]
    values = yaml.safe_load(scheduler_config(*options, "-o", "chart"))
    printed = [each for each in yaml.safe_load_all(scheduler_config(*options)) if each is not None]
    assert comparable(rendered({**STACK, **values})) == comparable(printed)


@pytest.mark.parametrize(
    ("values", "files"),
    [
        pytest.param(SIDECAR, ["sidecar/sidecar.yaml"], id="the sidecar"),
        pytest.param(WATCHER, ["watcher-pod/watcher.yaml"], id="the watcher"),
        pytest.param({"scheduler": {"enabled": False}}, ["rbac.yaml"], id="rights"),
        pytest.param(
            {"scheduler": {"enabled": False}, "rbac": {"countedResources": True}},
            ["rbac.yaml", "rbac-counted-resources.yaml"],
            id="rights for counted resources",
        ),
        pytest.param(
            {
                "scheduler": {"enabled": False},
                "rbac": {"countedResources": True},
                "admission": {
                    "enabled": True,
                    "counted": ["example.com/gpu-memory", "example.com/gpu-memory-percentage", "example.com/licence"],
                    "requestAnnotations": ["example.com/seats"],
                },
            },
            [
                *("rbac.yaml", "rbac-counted-resources.yaml", "admission/annotations.yaml", "admission/node-name.yaml"),
                *("admission/namespaces-of-bind.yaml", "admission/watcher.yaml"),
            ],
            id="all admission policies",
        ),
    ],
)
def test_chart_objects_equal_the_examples(values: Values, files: list[str]) -> None:
    assert comparable(rendered(values)) == comparable(documents_of(*(EXAMPLES / file for file in files)))


def test_chart_files_equal_the_examples() -> None:
    """A chart cannot include files from outside, so `make dist` copies them."""
    files = CHART / "files"
    examples = [EXAMPLES / "rbac.yaml", EXAMPLES / "rbac-counted-resources.yaml", *EXAMPLES.glob("admission/*.yaml")]
    found = {
        path.relative_to(files): path.read_text() for path in files.rglob("*.yaml") if path.parent.name != "scheduler"
    }
    assert found == {path.relative_to(EXAMPLES): path.read_text() for path in examples}


def policies(values: Values) -> dict[str, str]:
    """Return the specs of the policies as texts, by name."""
    documents = rendered({"scheduler": {"enabled": False}, **values})
    return {
        each["metadata"]["name"]: json.dumps(each["spec"])
        for each in documents
        if each["kind"] == "ValidatingAdmissionPolicy"
    }


def test_admission_policies_contain_the_lists_from_the_values() -> None:
    found = policies(
        {
            "admission": {
                "enabled": True,
                "namespaces": ["ml", "batch"],
                "counted": ["example.com/slot"],
                "requestAnnotations": ["example.com/a", "example.com/b"],
            }
        }
    )
    assert "['ml', 'batch']" in found["berth-namespaces-of-bind"]
    assert "['example.com/slot']" in found["berth-node-name"]
    for name in ("berth-node-name", "berth-annotations", "berth-annotations-of-bindings"):
        assert "['example.com/a', 'example.com/b']" in found[name]
    assert "berth-watcher" not in found  # without rights to patch pods there is nothing to limit
    text = "".join(found.values())
    assert "example.com/seats" not in text
    assert "example.com/licence" not in text


def test_admission_policies_name_the_user_of_the_sidecar() -> None:
    found = policies(
        {
            "sidecar": {"enabled": True, "image": IMAGE, "name": "placer"},
            "rbac": {"countedResources": True},
            "admission": {"enabled": True, "counted": ["example.com/slot"]},
        }
    )
    assert "berth-watcher" not in found  # the scheduler is the same user
    for name in ("berth-namespaces-of-bind", "berth-annotations", "berth-annotations-of-bindings"):
        assert "'system:serviceaccount:kube-system:placer'" in found[name]
        assert "system:serviceaccount:kube-system:berth-" not in found[name]


def test_sidecar_replaces_the_scheduler_and_gets_its_permissions() -> None:
    found = by_key(rendered({**SIDECAR, "rbac": {"enabled": False, "countedResources": True}}))
    assert {key.name for key in found if key.kind == "Deployment"} == {"berth-sidecar"}
    granted = {document["roleRef"]["name"] for document in found.values() if "roleRef" in document}
    assert {"berth-watcher", "berth-binder", "berth-watcher-counted-resources", "system:kube-scheduler"} <= granted


SHARED = {"kind": "dynamodb", "region": "eu-central-1"}


def test_replicas_of_the_sidecar_share_tables() -> None:
    sidecar = {**SIDECAR["sidecar"], "replicas": 2, "store": SHARED}
    found = by_key(rendered({"sidecar": sidecar, "rbac": {"enabled": False, "countedResources": True}}))
    spec = found[Key("Deployment", "kube-system", "berth-sidecar")]["spec"]
    [berth] = [each for each in spec["template"]["spec"]["containers"] if each["name"] == "berth"]
    options = ["--store=dynamodb", "--cache-table=berth-cache", "--ledger-table=berth-ledger", "--region=eu-central-1"]
    assert (spec["replicas"], "strategy" in spec, berth["args"][-4:]) == (2, False, options)


def test_sidecar_configuration_is_valid(tmp_path: Path) -> None:
    configuration = {
        "apiVersion": "berth.dev/v1alpha1",
        "kind": "BerthConfiguration",
        "profile": "resource-segregation",
        "pluginConfig": [{"name": "ResourceSegregation", "args": {"resources": ["nvidia.com/gpu"]}}],
    }
    found = by_key(rendered({**SIDECAR, "sidecar": {**SIDECAR["sidecar"], "configuration": configuration}}))
    text = found[Key("ConfigMap", "kube-system", "berth-sidecar")]["data"]["berth.yaml"]
    file = tmp_path / "berth.yaml"
    file.write_text(text)
    # Helm merges the chart's default values into maps; the user's configuration must not change.
    assert yaml.safe_load(text) == configuration
    assert CliRunner().invoke(main, ["config", "check", str(file)]).exit_code == 0


PLUGINS = "/opt/plugins"
CONFIG_MAP = (
    {"configMap": "berth-plugins"},
    {"name": "plugins", "configMap": {"name": "berth-plugins"}},
    f"{PLUGINS}/berth_plugins",
)
IMAGE_VOLUME = (
    {"image": "REGISTRY/plugins:1"},
    {"name": "plugins", "image": {"reference": "REGISTRY/plugins:1", "pullPolicy": "IfNotPresent"}},
    PLUGINS,
)


@pytest.mark.parametrize(
    ("values", "part", "deployment", "container"),
    [
        pytest.param(SIDECAR, "sidecar", "berth-sidecar", "berth", id="the sidecar"),
        pytest.param(WATCHER, "watcher", "berth-watcher", "watcher", id="the watcher"),
    ],
)
@pytest.mark.parametrize(
    ("plugins", "volume", "path"),
    [pytest.param(*CONFIG_MAP, id="a ConfigMap"), pytest.param(*IMAGE_VOLUME, id="an image")],
)
def test_custom_plugins_are_mounted_at_the_path_of_the_plugins_option(
    values: Values,
    part: str,
    deployment: str,
    container: str,
    plugins: dict[str, str],
    volume: dict[str, Any],
    path: str,
) -> None:
    found = by_key(rendered({**values, part: {**values[part], "plugins": plugins}}))  # type: ignore[dict-item]
    spec = found[Key("Deployment", "kube-system", deployment)]["spec"]["template"]["spec"]
    [own] = [each for each in spec["containers"] if each["name"] == container]
    assert f"--plugins={PLUGINS}" in own["args"]
    assert {"name": "plugins", "mountPath": path, "readOnly": True} in own["volumeMounts"]
    assert volume in spec["volumes"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        pytest.param(
            {**SIDECAR, "sidecar": {**SIDECAR["sidecar"], "plugins": {"configMap": "a", "image": "b"}}},
            "plugins",
            id="plugins from two places",
        ),
        pytest.param({"sidecar": {"enabled": True}}, "sidecar.image is missing", id="no image"),
        pytest.param(
            {**WATCHER, "watcher": {"enabled": True, "image": IMAGE}}, "watcher.stack is missing", id="no stack"
        ),
        pytest.param(
            {"scheduler": {"configuration": CONFIGURATION.replace("127.0.0.1", "u:p@host")}},
            "configuration",
            id="password in the address",
        ),
        pytest.param(
            {**STACK, "admission": {"enabled": True, "namespaces": ["a' in b || '"]}}, "namespaces", id="CEL in a list"
        ),
        pytest.param(
            {**SIDECAR, "sidecar": {**SIDECAR["sidecar"], "replicas": 2}, "rbac": {"countedResources": True}},
            "count apart from each other",
            id="two ledgers in memory",
        ),
        pytest.param(
            {**SIDECAR, "sidecar": {**SIDECAR["sidecar"], "replicas": 2, "configuration": GANGS}},
            "gangs in memory are bound apart from each other",
            id="two stores of gangs in memory",
        ),
        pytest.param(
            {**SIDECAR, "sidecar": {**SIDECAR["sidecar"], "store": {"kind": "dynamodb"}}},
            "sidecar.store.region is missing",
            id="tables without a region",
        ),
        pytest.param({**SIDECAR, "sidecar": {**SIDECAR["sidecar"], "store": {"kind": "file"}}}, "kind", id="no store"),
    ],
)
def test_chart_rejects_values_that_cannot_work(values: Values, message: str) -> None:
    with pytest.raises(ChartRefused, match=message):
        rendered(values)


@pytest.mark.parametrize("values", [pytest.param(STACK, id="scheduler"), pytest.param(SIDECAR, id="sidecar")])
@pytest.mark.parametrize(("cluster", "image"), [("v1.35.4-eks-3025e55", "v1.35.4"), ("1.36", "v1.36.0")])
def test_scheduler_has_the_version_of_the_cluster_and_default_memory(values: Values, cluster: str, image: str) -> None:
    documents = rendered(values, f"--kube-version={cluster}")
    [deployment] = [each for each in documents if each["kind"] == "Deployment"]
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    assert container["image"] == f"registry.k8s.io/kube-scheduler:{image}"
    assert container["resources"]["requests"]["memory"] == MEMORY[DEFAULT_SIZE]


def test_chart_version_equals_the_package_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)
