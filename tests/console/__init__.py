"""The page of `berth console` in a real browser: `make console-test`, and `make bench-console`."""
