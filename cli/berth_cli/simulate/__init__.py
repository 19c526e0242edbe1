"""`berth simulate`: which pod goes where, who has to go for it, and why not.

`jsonl` is the form for programs; it needs no click.
"""
