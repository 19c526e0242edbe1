"""The HTTP server of `berth serve` and of `berth console`: connections with limits, and TLS."""
