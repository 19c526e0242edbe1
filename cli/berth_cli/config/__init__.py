"""`berth config`: checks configuration documents and describes their form."""

from berth_cli.config.command import config

__all__ = ["config"]
