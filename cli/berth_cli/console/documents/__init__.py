"""What the page gets: rows of nodes and pods in columns, and their changes."""
