"""The routes that exist only in `berth serve`: for operators and for Prometheus."""
