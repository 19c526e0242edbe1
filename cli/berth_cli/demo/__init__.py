"""`berth demo`: the story of a policy, played on a small cluster in this process through the real HTTP server."""

from berth_cli.demo.command import demo

__all__ = ["demo"]
