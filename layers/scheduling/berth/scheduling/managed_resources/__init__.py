"""Counted resources, which the scheduler ignores and Berth counts: the demands of pods, and the room on nodes."""
