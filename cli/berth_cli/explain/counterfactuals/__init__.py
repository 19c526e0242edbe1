"""Counterfactuals: the smallest changes that would place a pod, each verified by running the real filters.

Proposals come from the codes of the reasons. They are guesses: only what the filters accept is shown.
"""
