"""Table contents of each release on a small cluster. `python -m tests.recorded RELEASE` adds those of this code."""
