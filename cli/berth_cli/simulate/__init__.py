"""`berth simulate`: which pod goes where, and why not. `jsonl` is the form for programs; it needs no click."""
