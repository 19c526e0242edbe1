"""What an installation costs: docs/reference/cost.md, from counted usage and one table of prices."""
