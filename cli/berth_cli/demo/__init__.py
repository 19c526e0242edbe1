"""`berth demo`: three policies, played on small clusters in this process through the real HTTP server."""

from berth_cli.demo.command import demo

__all__ = ["demo"]
