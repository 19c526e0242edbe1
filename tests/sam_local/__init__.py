"""`make sam-local`: every fixture under events/, through `sam local invoke`, in the container of its function."""
