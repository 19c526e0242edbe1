"""Find out whether calls reach Berth. What blocks all calls is reported once, by the check it belongs to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from berth_cli.doctor.access.endpoint import Endpoint, HttpResponse, NoResponse, ServerCertificate
from berth_cli.doctor.checks.verbs import CREDENTIALS_REMEDY, probe
from berth_cli.doctor.findings import CheckName, Finding, failed, skipped
from berth_cli.doctor.runner import SharedValue

UNAUTHORIZED_STATUSES = (401, 403)


@dataclass(frozen=True, slots=True)
class AccessFailure:
    """`by`: the check that reports it. `message`: the error of the call."""

    by: CheckName
    message: str


def probe_access(
    endpoint: Endpoint, verbs_by_field: Mapping[str, str], *, by_certificate: bool
) -> AccessFailure | None:
    """None if a call gets a response from a verb, whatever it is. `by_certificate`: the caller has a certificate."""
    field_name, verb = next(iter(verbs_by_field.items()))
    answer = endpoint.verb(verb, probe(field_name, []))
    if isinstance(answer, HttpResponse):
        if answer.status not in UNAUTHORIZED_STATUSES:
            return None
        by = CheckName.CLIENT_CERTIFICATE if by_certificate else CheckName.CREDENTIALS
        return AccessFailure(by, f"{verb}: status {answer.status}, the caller is not authorized")
    return AccessFailure(_responsible_check(endpoint, answer), f"{endpoint.address}/{verb}: {answer.cause}")


def _responsible_check(endpoint: Endpoint, answer: NoResponse) -> CheckName:
    if not answer.connection_closed:
        return CheckName.VERBS
    shown = endpoint.certificate()
    if shown is None:
        return CheckName.VERBS
    trusted = isinstance(shown, ServerCertificate) and shown.problem is None
    return CheckName.CLIENT_CERTIFICATE if trusted else CheckName.SERVER_CERTIFICATE


class AccessProbe:
    """Calls once, on the first use."""

    def __init__(self, probe: Callable[[], AccessFailure | None]) -> None:
        self.result = SharedValue(probe)

    def run_check(self, check: CheckName, run: Callable[[], Iterable[Finding]]) -> list[Finding]:
        """Run the check if calls reach Berth; else skip it and refer to the check that reports the failure."""
        failure = self.result()
        return list(run()) if failure is None else [_skip_finding(check, failure)]

    def run_verbs_check(self, endpoint: Endpoint, run: Callable[[], Iterable[Finding]]) -> Iterator[Finding]:
        """The same for the check `verbs`, which also reports failures that belong to no other check."""
        failure = self.result()
        if failure is None:
            yield from run()
        elif failure.by is CheckName.VERBS:
            message = f"{failure.message}; unless the extender is ignorable, no pod is scheduled"
            yield failed(CheckName.VERBS, message, f"check whether {endpoint.address} is Berth and whom it authorizes")
        else:
            if failure.by is CheckName.CREDENTIALS:
                yield failed(
                    failure.by,
                    f"{failure.message}; unless the extender is ignorable, no pod is scheduled",
                    CREDENTIALS_REMEDY,
                )
            yield _skip_finding(CheckName.VERBS, failure)


def _skip_finding(check: CheckName, failure: AccessFailure) -> Finding:
    return skipped(check, f"calls do not reach Berth: see the check {failure.by}")
