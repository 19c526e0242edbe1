"""Connects a scheduler to Berth: its configuration, certificates, plugins, and checks of all of them."""
