"""Runs, their medians and ratios, and what is written of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.bench.scheduler.cases import Case, Extender
from tests.bench.scheduler.documents import BEGIN, END, PAGE, PICTURE, RESULTS, page, section, table
from tests.bench.scheduler.plot import plot
from tests.bench.scheduler.results import Counted, Machine, Results, Run, rate_of, read

NONE, BERTH, COUNTED = Case(Extender.NONE), Case(Extender.BERTH), Case(Extender.BERTH_COUNTED, schedulers=8)
NULL, PEER, ONE = Case(Extender.NULL), Case(Extender.GO_FULL), Case(Extender.BERTH_COUNTED)
MACHINE = Machine(2, "any", "3.13.0", "v1.36.3")
ASKED, DAY = 500, "2026-11-22"


def _run(case: Case, pods: int, number: int = 1, counted: Counted | None = None) -> Run:
    return Run(case.name, 500, number, pods, 1.0, pods, 0.5, counted, asked=ASKED, date=DAY)


@pytest.fixture
def results() -> Results:
    runs = [_run(NONE, pods, number) for number, pods in enumerate((90, 100, 400))]
    runs += [_run(BERTH, pods, number) for number, pods in enumerate((20, 80, 50))]
    return Results(MACHINE, [*runs, _run(COUNTED, 40, counted=Counted(60, 10, 0, 800, 16))])


@pytest.mark.parametrize(
    ("times", "pods", "seconds"),
    [
        pytest.param([], 0, 0.0, id="none"),
        pytest.param([3.0], 0, 0.0, id="one says nothing about a rate"),
        pytest.param([0.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0], 8, 8.0, id="the first tenth warms up"),
        pytest.param([2.0, 1.0, 4.0], 2, 3.0, id="in any order"),
    ],
)
def test_rate_is_of_the_pods_after_the_first_ones(times: list[float], pods: int, seconds: float) -> None:
    assert rate_of(times) == (pods, seconds)


def test_standstill_before_all_pods_are_bound_counts() -> None:
    assert rate_of([0.0, 1.0, 2.0], end=30.0) == (2, 30.0)


def test_rates_are_medians_and_ratios_are_of_medians(results: Results) -> None:
    assert results.rate(NONE, 500) == 100
    assert results.ratio(BERTH, NONE, 500) == 0.5
    assert results.ratio(NONE, NONE, 500) is None
    assert results.rate(BERTH, 1000) is None


def test_file_has_every_run(results: Results, tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    file.write_text(results.json())
    assert read(file) == results


def test_table_and_section_show_rate_time_and_ratio(results: Results) -> None:
    assert f"{500:>6}  {'berth':<28}{50:>9.1f}{20:>10.1f}{0.5:>8.2f}" in table(results).splitlines()
    assert "| `berth` | 50.0 | 20.0 | 0.50 |  |  |" in section(results).splitlines()


def test_targets_stand_beside_the_ratios_that_have_one() -> None:
    rates = {NONE: 100, NULL: 40, PEER: 2, BERTH: 20}
    results = Results(MACHINE, [replace(_run(case, rate), nodes=5000) for case, rate in rates.items()])
    assert "| `berth` | 20.0 | 50.0 | 0.20 | 0.50 (target 0.75) | 10.00 (target 25) |" in section(results).splitlines()
    [line] = [line for line in table(results).splitlines() if "  berth  " in line]
    assert line.endswith(f"{0.2:>8.2f}{0.5:>8.2f}{10:>8.2f}  / null >= 0.75  / go >= 25")
    assert [(each.to, each.value, each.target) for each in results.ratios if each.case == "berth"] == [
        ("none", 0.2, None),
        ("null", 0.5, 0.75),
        ("go-full", 10.0, 25),
    ]


def test_ratio_to_one_scheduler_is_shown() -> None:
    results = Results(MACHINE, [_run(ONE, 20, counted=Counted(20, 1, 0)), _run(COUNTED, 30, counted=Counted(30, 3, 0))])
    assert "| `berth-counted.schedulers-8` | 30.0 | 1.50 | 0.100 |  | 0 |" in section(results).splitlines()
    assert "1.50 of the pods a second of one scheduler" in table(results).splitlines()[-1]


@pytest.mark.parametrize(
    ("case", "nodes", "seconds"),
    [
        pytest.param(NONE, 500, 20.0, id="of this case"),
        pytest.param(BERTH, 500, 30.0, id="of as many nodes"),
        pytest.param(BERTH, 1000, 50.0, id="of any"),
    ],
)
def test_time_of_a_run_is_estimated_by_what_is_known(case: Case, nodes: int, seconds: float) -> None:
    runs = [(NONE, 500, 20.0), (NULL, 500, 40.0), (NONE, 5000, 90.0), (PEER, 500, 0.0)]
    results = Results(MACHINE, [replace(_run(each, 10), nodes=size, took=took) for each, size, took in runs])
    assert results.seconds(case, nodes) == seconds


def test_time_of_a_run_is_unknown_without_runs() -> None:
    assert Results(MACHINE, [_run(NONE, 10)]).seconds(NONE, 500) is None


@pytest.mark.parametrize(
    ("nodes", "number", "asked", "has"),
    [
        pytest.param(500, 2, ASKED, True, id="the same"),
        pytest.param(500, 3, ASKED, False, id="another run"),
        pytest.param(1000, 2, ASKED, False, id="another size"),
        pytest.param(500, 2, 80, False, id="another number of pods"),
    ],
)
def test_knows_which_runs_it_has(results: Results, nodes: int, number: int, asked: int, has: bool) -> None:
    assert results.has(NONE, nodes, number, asked) is has


def test_run_replaces_those_of_its_case_and_size_with_other_pods(results: Results) -> None:
    results.add(replace(_run(NONE, 30), asked=80))
    results.add(replace(_run(BERTH, 30, number=3), nodes=1000, asked=80))
    assert [(run.case, run.nodes, run.asked) for run in results.runs if run.case != COUNTED.name] == [
        *[("berth", 500, ASKED)] * 3,
        ("none", 500, 80),
        ("berth", 1000, 80),
    ]
    assert results.rate(NONE, 500) == 30


def test_ratio_is_of_runs_with_as_many_pods(results: Results) -> None:
    results.add(replace(_run(NONE, 30), asked=80))
    assert results.ratio(BERTH, NONE, 500) is None


def test_runs_keep_their_own_pods_and_date(results: Results) -> None:
    assert "| measured | 2026-11-22 |" in section(results).splitlines()
    assert "| pods of a run | 500 |" in section(results).splitlines()
    assert "500 pods" not in table(results)
    results.add(replace(_run(NONE, 30), asked=80, date="2026-11-24"))
    lines = section(results).splitlines()
    assert "| measured | 2026-11-22 to 2026-11-24 |" in lines
    assert "| pods of a run | 80 or 500 |" in lines
    assert "| `none`, 80 pods, one run | 30.0 | 33.3 |  |  |  |" in lines
    assert "| `berth`, 500 pods | 50.0 | 20.0 |  |  |  |" in lines
    assert [line.endswith("  80 pods") for line in table(results).splitlines() if "  none  " in line] == [True]


def test_file_with_one_date_for_all_runs_is_read(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    older = json.loads(Results(MACHINE, [_run(NONE, 30, counted=Counted(1, 2, 3))]).json())
    older["machine"]["date"] = "2026-11-23"
    for field in ("asked", "date"):
        del older["runs"][0][field]
    for field in ("taken", "rejected"):
        del older["runs"][0]["counted"][field]
    file.write_text(json.dumps(older))
    found = read(file)
    assert found == Results(MACHINE, [replace(_run(NONE, 30, counted=Counted(1, 2, 3)), asked=0, date="2026-11-23")])
    assert not found.has(NONE, 500, 1, ASKED)


def test_counted_resources_show_conflicts_slots_and_overcommitted_nodes(results: Results) -> None:
    assert (
        "| `berth-counted.schedulers-8`, one run | 40.0 |  | 0.250 | 800 of 800, 16 | 0 |"
        in section(results).splitlines()
    )
    assert (
        "   500  berth-counted.schedulers-8: 0.250 conflicts per bind, slots taken, pods beyond: 800 of 800, 16,"
        " 0 nodes overcommitted" in table(results).splitlines()
    )


def test_run_that_left_most_slots_free_is_shown(results: Results) -> None:
    results.add(_run(COUNTED, 40, 2, Counted(60, 10, 0, 640, 3)))
    assert "| 640 of 800, 3 |" in section(results)


def test_page_keeps_what_is_around_the_section(results: Results) -> None:
    found = page(f"before\n{BEGIN}\nold\n{END}\nafter\n", results)
    assert found == f"before\n{BEGIN}\n{section(results)}{END}\nafter\n"
    assert page(found, results) == found


@pytest.mark.parametrize(("loads", "says_so"), [((8.5, 20.0), True), ((0.5, 20.0), False)])
def test_section_says_that_the_machine_was_busy_in_every_run(loads: tuple[float, float], says_so: bool) -> None:
    runs = [replace(_run(NONE, 10), load=load) for load in loads]
    assert ("Other programs used this machine" in section(Results(MACHINE, runs))) is says_so


def test_picture_is_an_image_with_a_bar_for_each_plain_case(results: Results) -> None:
    texts = [each.text for each in ElementTree.fromstring(plot(results)).iter("{http://www.w3.org/2000/svg}text")]
    assert texts == ["500 nodes, pods a second", "none", "100.0", "berth", "50.0"]


def test_section_says_which_cases_have_fewer_runs_than_the_others(results: Results) -> None:
    text = section(results)
    assert "medians of 3 runs" in text
    assert f"`{BERTH.name}` |" in text
    assert f"`{COUNTED.name}`, one run |" in text


def test_documents_show_the_committed_results() -> None:
    results = read(RESULTS)
    assert page(PAGE.read_text(), results) == PAGE.read_text()
    assert plot(results) == PICTURE.read_text()
