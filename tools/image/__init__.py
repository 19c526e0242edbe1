"""`make image`: Berth's command in a container image."""
