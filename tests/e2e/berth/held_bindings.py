"""A proxy in front of the API server that keeps Bindings on the wire."""

from __future__ import annotations

from threading import Condition

from tests.chaos.faulty_proxy import Fault, FaultyProxy
from tests.e2e.kubernetes.control_plane import ControlPlane
from tests.e2e.kubernetes.kubernetes_api import Credentials

HELD_SECONDS = 120


class HeldBindings(FaultyProxy):
    """Whoever sent a Binding may end meanwhile: it gets to the API server all the same."""

    def __init__(self, control_plane: ControlPlane) -> None:
        behind = control_plane.credentials()
        super().__init__(behind.server, ca_file=behind.ca_file, own=control_plane.serving_certificate())
        self._authority = behind.ca_file
        self._changed = Condition()
        self._path = ""
        self._held = 0

    def credentials(self, of: Credentials) -> Credentials:
        """The same user, by way of this proxy."""
        return Credentials(self.url, self._authority, of.token)

    def hold(self, pod: str) -> None:
        """Bindings of the pod of this name get no further than here."""
        with self._changed:
            self._path = f"/pods/{pod}/binding"

    def wait_for_binding(self, seconds: float) -> None:
        """Until one is held."""
        with self._changed:
            assert self._changed.wait_for(lambda: self._held > 0, seconds), "no Binding was sent"

    def let_go(self) -> None:
        """Send them."""
        with self._changed:
            self._path = ""
            self._changed.notify_all()

    def drawn(self, path: str) -> Fault | None:
        with self._changed:
            if self._path and path.endswith(self._path):
                self._held += 1
                self._changed.notify_all()
                self._changed.wait_for(lambda: not self._path, HELD_SECONDS)
        return super().drawn(path)
