"""`berth reservations`: the ledger of counted resources, for an operator."""

from berth_cli.reservations.command import reservations

__all__ = ["reservations"]
