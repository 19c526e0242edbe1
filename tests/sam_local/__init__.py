"""`make sam-local`: every fixture under events/ with `sam local invoke` in the container of its function."""
