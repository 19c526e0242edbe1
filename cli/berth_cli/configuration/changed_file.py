"""The file of `berth serve --config`: a changed document is tried on the verbs and applied without a restart."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from berth.configuration.store import ConfigurationStore
from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.configuration.document import ValidDocument, error_line, parse_document
from berth_cli.configuration.trial import VERB_FUNCTIONS, Invoke, try_document

Handler = Callable[[Mapping[str, object], object], Any]
"""The handler of a function: takes event and context, returns the response."""


def local_functions(handlers: Mapping[str, Handler]) -> Mapping[str, Invoke]:
    """Return this process's functions by verb. handlers: the functions' handlers by route."""
    routes = {verb: f"POST /scheduler/{verb}" for verb in VERB_FUNCTIONS.values()}
    return {verb: partial(_invoke, handlers[route]) for verb, route in routes.items() if route in handlers}


def _invoke(handler: Handler, event: Mapping[str, object]) -> object:
    return handler(event, None)


@dataclass
class ConfigurationFile:
    """Follows the file of a configuration, in one thread.

    counts: whether the server's first configuration counts resources. say: called with a line for each change.
    warnings: returns the warnings about a document. note: called at each poll with the reason why the file is not in
    force; empty if it is in force.
    """

    path: Path
    counts: bool
    store: ConfigurationStore
    functions: Mapping[str, Invoke]
    say: Callable[[str], None]
    warnings: Callable[[BerthConfiguration], Iterable[object]]
    note: Callable[[str], None]

    def __post_init__(self) -> None:
        self._seen = self._read()
        self._refusal, self._was_absent = "", False

    def poll(self) -> None:
        """Apply the document if the file has changed since the last call."""
        text = self._read()
        if text and text != self._seen:
            self._seen = text
            self._refusal = self._changed(text)
        # An editor may replace the file in two steps, so the file may be empty for a moment.
        is_lost, self._was_absent = not text and self._was_absent, not text
        cause = "it is missing, empty or unreadable" if is_lost else self._refusal
        self.note(f"{self.path} is not applied: {cause}; the document before stays in force" if cause else "")

    def _read(self) -> bytes:
        try:
            return self.path.read_bytes()
        except OSError:
            return b""

    def _changed(self, text: bytes) -> str:
        """Apply the document. Return the reason if it cannot be applied; otherwise an empty string."""
        result = parse_document(text)
        if not isinstance(result, ValidDocument):
            for each in result:
                self.say(error_line(str(self.path), each.field, each.message, each.line))
            return "it is invalid"
        if result.configuration.counting.counts != self.counts:
            return "a document that begins or ends counting resources needs a restart"
        for warning in self.warnings(result.configuration):
            self.say(f"{self.path}: warning: {warning}")
        document = result.configuration.model_dump_json(by_alias=True, exclude_unset=True)
        trial = try_document(document, self.functions)
        for line in trial.lines():
            self.say(line)
        if trial.refusal:
            return trial.refusal
        self.store.apply(document, at=time.time(), plugin_version=trial.plugin_version)
        self.say(f"{self.path} is applied: profile {result.configuration.profile}")
        return ""
