"""The sources that commands read: a server at an address, and a deployed stack."""
