"""Counted resources: the scheduler ignores them and Berth counts them. The demands of pods, and the room on nodes."""
