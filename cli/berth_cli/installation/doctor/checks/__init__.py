"""One module for each subject of checks. They take what the ports return and yield findings; they do no other I/O."""
