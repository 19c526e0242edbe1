"""The watcher's part of the ledger: it confirms, expires, releases and rebuilds reservations."""
