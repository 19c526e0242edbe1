"""The watcher's part in the ledger: it confirms, expires, releases and rebuilds reservations."""
