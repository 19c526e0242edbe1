"""The scheduler's queue: rejected pods are retried when something they wait for changes (facts 41 to 43)."""
