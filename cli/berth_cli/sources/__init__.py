"""The sources that commands read: a server behind an address, and a deployed stack."""
