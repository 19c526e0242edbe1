"""Counted resources: what the scheduler ignores and Berth counts. Who asks for what, and who has what left."""
