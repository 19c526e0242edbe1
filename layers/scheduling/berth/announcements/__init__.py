"""Announcements: pods that bind lets onto a node, until the node cache shows them."""
