"""The scheduler's side of Berth: which of its extenders are ours."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from berth_cli.doctor.scheduler.configuration import Extender, SchedulerDocument


@dataclass(frozen=True, slots=True)
class SchedulerSide:
    """`where`: the file or object that the document is from. `ours`: the entries that call Berth, in their order."""

    where: str
    document: SchedulerDocument
    ours: tuple[Extender, ...]

    @property
    def binder(self) -> Extender | None:
        return next((each for each in self.ours if each.bind_verb), None)


def scheduler_side(where: str, document: SchedulerDocument, address: str) -> SchedulerSide:
    """`address`: Berth's, where it is known; else an extender counts as Berth if it is the only one, or by its path."""
    return SchedulerSide(where, document, tuple(_ours(document.extenders, address)))


def _ours(extenders: tuple[Extender, ...], address: str) -> list[Extender]:
    if address:
        return [each for each in extenders if _place(each.url_prefix) == _place(address)]
    by_path = [each for each in extenders if urlsplit(each.url_prefix).path.rstrip("/").endswith("/scheduler")]
    return by_path or list(extenders if len({_place(each.url_prefix) for each in extenders}) == 1 else ())


def _place(url: str) -> tuple[str, int | None]:
    """Host and port: a wrong path must not hide an extender from its checks."""
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        port = None
    return parts.hostname or "", port or {"http": 80, "https": 443}.get(parts.scheme)


def shown(url: str) -> str:
    """An address without its credentials."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
