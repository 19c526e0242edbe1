"""Who may call: Basic credentials or a client certificate, held against what the account has on record."""
