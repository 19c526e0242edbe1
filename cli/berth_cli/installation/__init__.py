"""The connection of a scheduler with Berth: its configuration, certificates, plugins, and the check of all of it."""
