"""The scheduler's configuration from Berth's point of view: which extenders are Berth."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from berth_cli.doctor.scheduler.configuration import Extender, SchedulerConfiguration

DEFAULT_SCHEDULER = "default-scheduler"


@dataclass(frozen=True, slots=True)
class SchedulerSide:
    """`source`: the file or object that contains the configuration.

    `berth_extenders`: the entries that call Berth, in their order. `flags`: of its command; None where they are not
    known.
    """

    source: str
    configuration: SchedulerConfiguration
    berth_extenders: tuple[Extender, ...]
    flags: tuple[str, ...] | None = None

    @property
    def scheduler_names(self) -> tuple[str, ...]:
        """The schedulerName of each profile."""
        return tuple(profile.scheduler_name for profile in self.configuration.profiles)

    @property
    def binder(self) -> Extender | None:
        return next((each for each in self.berth_extenders if each.bind_verb), None)


def scheduler_side(
    source: str, configuration: SchedulerConfiguration, address: str, flags: tuple[str, ...] | None = None
) -> SchedulerSide:
    """Find the entries that call Berth. Without `address`: the entries with Berth's path, or the only extender."""
    return SchedulerSide(source, configuration, tuple(_entries_of_berth(configuration.extenders, address)), flags)


def _entries_of_berth(extenders: tuple[Extender, ...], address: str) -> list[Extender]:
    if address:
        return [each for each in extenders if _host_and_port(each.url_prefix) == _host_and_port(address)]
    by_path = [each for each in extenders if urlsplit(each.url_prefix).path.rstrip("/").endswith("/scheduler")]
    return by_path or list(extenders if len({_host_and_port(each.url_prefix) for each in extenders}) == 1 else ())


def _host_and_port(url: str) -> tuple[str, int | None]:
    """Compare host and port only, so that a wrong path is reported by the checks."""
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        port = None
    return parts.hostname or "", port or {"http": 80, "https": 443}.get(parts.scheme)


def without_credentials(url: str) -> str:
    """The URL without its credentials."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
