"""Many binds at once against a DynamoDB that serves them at once: `python -m tests.soak`."""
