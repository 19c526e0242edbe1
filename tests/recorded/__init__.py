"""What each release left in the tables, small: `python -m tests.recorded RELEASE` adds today's."""
