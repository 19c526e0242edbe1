"""The generated pages of docs/reference: command line, configuration and template parameters.

`python -m tools.reference --write` writes them, `--check` fails when one of them is out of date.
"""
