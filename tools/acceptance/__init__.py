"""`make acceptance`: deploy a stack into an account, try it, delete it, and write a report."""
