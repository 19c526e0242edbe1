"""The page of `berth console` in a real browser: `make test-external`."""
