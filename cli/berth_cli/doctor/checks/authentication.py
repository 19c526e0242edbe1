"""Does a call get through at all? What keeps all of them out is told once, by the check whose matter it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from threading import Lock

from berth_cli.doctor.access.endpoint import Answered, Endpoint, ServerCertificate, Unanswered
from berth_cli.doctor.checks.verbs import WHO_MAY, probe
from berth_cli.doctor.findings import CheckName, Finding, failed, skipped

NOT_LET_IN = (401, 403)


@dataclass(frozen=True, slots=True)
class Barred:
    """by: the check that says more. told: what a call met."""

    by: CheckName
    told: str


def barred(endpoint: Endpoint, named: Mapping[str, str], *, by_certificate: bool) -> Barred | None:
    """None where calls get through, whatever the answer. by_certificate: whether the caller shows one."""
    field_name, verb = next(iter(named.items()))
    answer = endpoint.verb(verb, probe(field_name, []))
    if isinstance(answer, Answered):
        if answer.status not in NOT_LET_IN:
            return None
        by = CheckName.CLIENT_CERTIFICATE if by_certificate else CheckName.CREDENTIALS
        return Barred(by, f"{verb}: status {answer.status}, the caller is not let in")
    return Barred(_by_whom(endpoint, answer), f"{endpoint.address}/{verb}: {answer.cause}")


def _by_whom(endpoint: Endpoint, answer: Unanswered) -> CheckName:
    if not answer.broken_off:
        return CheckName.VERBS
    shown = endpoint.certificate()
    if shown is None:
        return CheckName.VERBS
    trusted = isinstance(shown, ServerCertificate) and shown.distrust is None
    return CheckName.CLIENT_CERTIFICATE if trusted else CheckName.SERVER_CERTIFICATE


@dataclass(slots=True)
class WayIn:
    """Looked for once, by whichever check comes first; the checks run in threads of their own."""

    look: Callable[[], Barred | None]
    _lock: Lock = field(default_factory=Lock)
    _found: list[Barred | None] = field(default_factory=list)

    def found(self) -> Barred | None:
        with self._lock:
            if not self._found:
                self._found.append(self.look())
            return self._found[0]

    def past(self, check: CheckName, examine: Callable[[], Iterable[Finding]]) -> list[Finding]:
        """What the check finds; or, where no call gets as far as that, which other one to see."""
        bar = self.found()
        return list(examine()) if bar is None else [_see(check, bar)]

    def verbs(self, endpoint: Endpoint, examine: Callable[[], Iterable[Finding]]) -> Iterator[Finding]:
        """The same for the check that tells what no other one does: nobody listens, or the password is wrong."""
        bar = self.found()
        if bar is None:
            yield from examine()
        elif bar.by is CheckName.VERBS:
            told = f"{bar.told}; unless the extender is ignorable, no pod is scheduled"
            yield failed(CheckName.VERBS, told, f"see whether {endpoint.address} is Berth's, and who may call it")
        else:
            if bar.by is CheckName.CREDENTIALS:
                yield failed(bar.by, f"{bar.told}; unless the extender is ignorable, no pod is scheduled", WHO_MAY)
            yield _see(CheckName.VERBS, bar)


def _see(check: CheckName, bar: Barred) -> Finding:
    return skipped(check, f"no call gets through: see the check {bar.by}")
