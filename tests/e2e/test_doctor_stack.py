"""`berth doctor` on a deployed stack with Basic credentials, with one thing broken at a time.

Roles, schedule and functions are the emulator's, which treats them as AWS documents it.
"""

from __future__ import annotations

import pytest

from berth_cli.doctor.checks.verbs import DEFAULT_VERBS
from berth_cli.doctor.findings import CheckName
from berth_cli.doctor.scheduler.scheduler_side import without_credentials
from tests.deployment import sam
from tests.deployment.emulator import REGION

from .doctor import berth_doctor, doctor_in_process
from .endpoint import Endpoint
from .extender import Extender
from .loopback import HOST, free_port
from .misconfiguration import Broken, table
from .misconfigured_stack import CASES, StackSetUp
from .scheduler_config import berth_scheduler_config
from .stack import DeployedStack

# That the password is in the address is told, whatever else there is (fact 37).
ALWAYS = frozenset({CheckName.CREDENTIALS})


@pytest.fixture(scope="module")
def sound(extender: Extender, tmp_path_factory: pytest.TempPathFactory) -> StackSetUp:
    assert isinstance(extender, DeployedStack)
    home = tmp_path_factory.mktemp("doctor")
    document = home / "scheduler.yaml"
    options = (
        f"--stack={sam.STACK_NAME}",
        f"--url={without_credentials(extender.url_prefix)}",
        "--password-from=stack",
    )
    # How long calls take on a shared machine is nobody's fault here.
    printed = berth_scheduler_config(*options, "--http-timeout=29s", environment=extender.environment())
    document.write_text(printed)
    for verb in DEFAULT_VERBS.values():
        # A function's first start, on such a machine, can take longer than doctor waits.
        Endpoint(extender.url_prefix).post(verb, b"{}")
    return StackSetUp(extender, home, document)


@pytest.mark.parametrize("extender", ["stack"], indirect=True)
def test_printed_configuration_has_no_findings_on_deployed_stack(sound: StackSetUp) -> None:
    diagnosis = berth_doctor(*sound.options, environment=sound.stack.environment())
    assert set(diagnosis.bad) == ALWAYS, diagnosis.findings
    assert diagnosis.exit_status == 0
    skipped = {each.check for each in diagnosis.findings if each.result == "skipped"}
    assert skipped == {"server-certificate"}  # the emulator's address is http
    assert sound.stack.password()[1] not in str(diagnosis.findings)


@pytest.mark.parametrize("extender", ["stack"], indirect=True)
@table(CASES)
def test_doctor_reports_only_the_misconfiguration(broken: Broken[StackSetUp], sound: StackSetUp) -> None:
    with broken.breaking(sound) as options:
        diagnosis = doctor_in_process(*sound.options, *options, environment=sound.stack.environment())
        broken.check(diagnosis, ALWAYS)


@pytest.mark.parametrize("extender", ["stack"], indirect=True)
def test_restored_stack_has_no_new_findings(sound: StackSetUp) -> None:
    diagnosis = doctor_in_process(*sound.options, environment=sound.stack.environment())
    assert set(diagnosis.bad) == ALWAYS, diagnosis.findings


def test_unreachable_account_is_one_failure() -> None:
    nowhere = {
        "AWS_ENDPOINT_URL": f"http://{HOST}:{free_port()}",
        "AWS_REGION": REGION,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_MAX_ATTEMPTS": "1",
    }
    missing = berth_doctor(f"--stack={sam.STACK_NAME}", environment=nowhere)
    assert set(missing.bad) == {"stack"}
    assert missing.exit_status == 1
