"""The routes that only `berth serve` has: for operators and for Prometheus."""
