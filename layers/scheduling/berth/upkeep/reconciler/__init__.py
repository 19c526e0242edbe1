"""The watcher's work on the ledger: it confirms, expires, releases and rebuilds reservations."""
