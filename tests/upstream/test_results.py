"""Cases and their ends in what a test binary of Go prints."""

from pathlib import Path

from tests.upstream.results import Execution, Outcome, Result, read_results

OUTPUT = """\
I1129 12:00:00.000000       1 etcd.go:66] etcd already running at http://127.0.0.1:1
=== RUN   TestFilter
=== RUN   TestFilter/fits
    shared_informer.go:402: I1129 12:00:00.000001] Waiting for caches to sync
=== RUN   TestFilter/does_not_fit,_(twice)
    util_test.go:3: I1129 12:00:00.000002] Waiting for caches to sync
    filter_test.go:7: pod is on node a
=== RUN   TestFilter/alpha
--- FAIL: TestFilter (3.00s)
    --- PASS: TestFilter/fits (1.00s)
    --- FAIL: TestFilter/does_not_fit,_(twice) (2.00s)
    --- SKIP: TestFilter/alpha (0.00s)
=== RUN   TestScore
=== RUN   TestScore/least
panic: test timed out after 20m0s
"""


def test_cases_are_subtests_and_a_case_without_an_end_is_unfinished() -> None:
    assert read_results(OUTPUT) == {
        "TestFilter/fits": Result(Outcome.PASSED, 1.0),
        "TestFilter/does_not_fit,_(twice)": Result(Outcome.FAILED, 2.0),
        "TestFilter/alpha": Result(Outcome.SKIPPED, 0.0),
        "TestScore/least": Result(Outcome.UNFINISHED),
    }


def test_test_that_fails_by_itself_is_a_case() -> None:
    output = "=== RUN   TestA\n=== RUN   TestA/b\n--- FAIL: TestA (2.00s)\n    --- PASS: TestA/b (1.00s)\n"

    assert read_results(output) == {
        "TestA": Result(Outcome.FAILED, 2.0),
        "TestA/b": Result(Outcome.PASSED, 1.0),
    }


def test_symptom_is_first_line_of_the_case_that_is_not_klog_s(tmp_path: Path) -> None:
    log = tmp_path / "test.log"
    log.write_text(OUTPUT)
    execution = Execution("beside/filters", log, read_results(OUTPUT))

    assert execution.symptom("TestFilter/does_not_fit,_(twice)") == "filter_test.go:7: pod is on node a"
