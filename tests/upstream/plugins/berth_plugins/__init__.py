"""The rules of upstream's fake extenders, for Berth."""

__version__ = "1.0.0"
