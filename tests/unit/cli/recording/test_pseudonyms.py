"""Which names get a pseudonym, which stay in clear, and what a pseudonym has to be like."""

from __future__ import annotations

import pytest

from berth.scheduling.fields.selectors import is_label_key, is_label_value
from berth_cli.recording.pseudonyms import Pseudonyms

KEY = b"key of a test"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("", id="no name"),
        pytest.param("17", id="a number, which Gt and Lt read"),
        pytest.param("topology.kubernetes.io/zone", id="a key of Kubernetes"),
        pytest.param("node-role.kubernetes.io/worker", id="a key of a subdomain of it"),
        pytest.param("berth.dev/gang", id="a key of Berth"),
        pytest.param("pod-group.scheduling.sigs.k8s.io", id="the label of a gang"),
        pytest.param("priority.lixueduan.com", id="the priority label"),
        pytest.param("metadata.name", id="the field of a node selector"),
        pytest.param("system-node-critical", id="a priority class of Kubernetes"),
        pytest.param("0.0.0.0", id="all addresses"),
        pytest.param("acme.com/rack", id="a name that the policy has"),
    ],
)
def test_stays_in_clear(name: str) -> None:
    names = Pseudonyms(KEY)
    names.keep({"args": [{"label": "acme.com/rack"}]})
    assert names.name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("web", id="a word"),
        pytest.param("acme.com/team", id="a key with a domain"),
        pytest.param("my-kubernetes.io/team", id="a domain that only ends like that of Kubernetes"),
        pytest.param("a.kubernetes.io", id="a name that is no key with a domain"),
        pytest.param("eu-west-1a", id="a zone"),
        pytest.param("4Gi", id="an amount"),
        pytest.param("not a name!", id="text that is no name"),
        pytest.param("x" * 200, id="a long name"),
    ],
)
def test_gets_a_pseudonym_that_is_valid_where_the_name_is(name: str) -> None:
    found = Pseudonyms(KEY).name(name)
    assert name not in found
    assert (is_label_key(found), is_label_value(found)) == (is_label_key(name), is_label_value(name))


def test_equal_names_have_equal_pseudonyms_and_others_do_not() -> None:
    names = Pseudonyms(KEY)
    assert names.name("web") == names.name("web")
    assert len({names.name("web"), names.name("db"), names.pod("web"), names.uid("web"), names.image("web")}) == 5


def test_another_key_gives_other_pseudonyms() -> None:
    assert Pseudonyms(b"a").name("web") != Pseudonyms(b"b").name("web")


@pytest.mark.parametrize(
    ("image", "has_tag"), [("web", False), ("web:1", True), ("host:5000/web", False), ("host:5000/web:1", True)]
)
def test_an_image_has_a_tag_where_it_had_one(image: str, *, has_tag: bool) -> None:
    assert (":" in Pseudonyms(KEY).image(image)) is has_tag


def test_says_whether_a_name_that_stays_has_a_pseudonym_already() -> None:
    names = Pseudonyms(KEY)
    names.name("team")
    assert names.keep({"label": "rack"}) is False
    assert names.keep({"label": "team"}) is True
    assert names.name("team") == "team"
    assert names.keep({"label": "team"}) is False


def test_values_stay_where_a_rule_reads_them_by_their_key() -> None:
    names = Pseudonyms(KEY, ["licences"])
    assert [names.keeps_values(key) for key in ("licences", "priority.lixueduan.com", "team")] == [True, True, False]
