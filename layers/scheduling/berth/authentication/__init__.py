"""Authentication of callers: Basic credentials, or a client certificate on an allow-list."""
