"""`make acceptance`: deploys a stack into an account, tests it, deletes it, and writes a report."""
