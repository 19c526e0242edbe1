"""Why pods are pending: all of them by reason, and one of them with what would place it."""
