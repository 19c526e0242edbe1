"""`berth doctor` on a deployed stack with Basic authentication, with one misconfiguration at a time.

The stack runs on the emulator, which follows the AWS documentation for roles, schedules and functions.
"""

from __future__ import annotations

import pytest

from berth_cli.doctor.checks.verbs import DEFAULT_VERBS
from berth_cli.doctor.findings import CheckName
from berth_cli.sources.server import without_credentials
from tests.deployment import sam
from tests.deployment.emulator import REGION

from .berth.endpoint import Endpoint
from .berth.extender import Extender
from .berth.scheduler_config import berth_scheduler_config
from .berth.stack import DeployedStack
from .kubernetes.loopback import HOST, free_port
from .misconfigured.doctor import berth_doctor, doctor_in_process
from .misconfigured.misconfiguration import Misconfiguration, parametrize_misconfigurations
from .misconfigured.stack import CASES, StackSetUp

# Doctor always warns about the password in the URL (fact 37).
ALWAYS = frozenset({CheckName.CREDENTIALS})


@pytest.fixture(scope="module")
def setup(extender: Extender, tmp_path_factory: pytest.TempPathFactory) -> StackSetUp:
    assert isinstance(extender, DeployedStack)
    home = tmp_path_factory.mktemp("doctor")
    document = home / "scheduler.yaml"
    options = (
        f"--stack={sam.STACK_NAME}",
        f"--url={without_credentials(extender.url_prefix)}",
        "--with-password",
    )
    # A long timeout: calls on a shared machine may be slow.
    printed = berth_scheduler_config(*options, "--http-timeout=29s", environment=extender.environment())
    document.write_text(printed)
    for verb in DEFAULT_VERBS.values():
        # A cold start on a shared machine can take longer than the timeout of doctor.
        Endpoint(extender.url_prefix).post(verb, b"{}")
    return StackSetUp(extender, home, document)


@pytest.mark.parametrize("extender", ["stack"], indirect=True)
def test_printed_configuration_has_no_findings_on_deployed_stack(setup: StackSetUp) -> None:
    diagnosis = berth_doctor(*setup.options, environment=setup.stack.environment())
    assert set(diagnosis.bad) == ALWAYS, diagnosis.findings
    assert diagnosis.exit_status == 0
    skipped = {each.check for each in diagnosis.findings if each.result == "skipped"}
    assert skipped - {"policy"} == {"server-certificate"}  # the emulator's address is http; the cluster may lack nodes
    assert setup.stack.password()[1] not in str(diagnosis.findings)


@pytest.mark.parametrize("extender", ["stack"], indirect=True)
@parametrize_misconfigurations(CASES)
def test_doctor_reports_only_the_misconfiguration(
    misconfiguration: Misconfiguration[StackSetUp], setup: StackSetUp
) -> None:
    with misconfiguration.apply(setup) as options:
        diagnosis = doctor_in_process(*setup.options, *options, environment=setup.stack.environment())
        misconfiguration.check(diagnosis, ALWAYS)


@pytest.mark.parametrize("extender", ["stack"], indirect=True)
def test_restored_stack_has_no_new_findings(setup: StackSetUp) -> None:
    diagnosis = doctor_in_process(*setup.options, environment=setup.stack.environment())
    assert set(diagnosis.bad) == ALWAYS, diagnosis.findings


def test_unreachable_account_is_one_failure() -> None:
    environment = {
        "AWS_ENDPOINT_URL": f"http://{HOST}:{free_port()}",
        "AWS_REGION": REGION,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_MAX_ATTEMPTS": "1",
    }
    diagnosis = berth_doctor(f"--stack={sam.STACK_NAME}", environment=environment)
    assert set(diagnosis.bad) == {"stack"}
    assert diagnosis.exit_status == 1
