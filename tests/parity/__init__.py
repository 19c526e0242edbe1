"""Parity with kube-scheduler: generated cases, answered by its own plugins and by Berth.

    make parity
    python -m tests.parity.compare --cases 2000 --seed 7

`oracle/` is a Go program around kube-scheduler's plugins, `generator/` draws small adversarial clusters from a seed,
and `compare` runs both sides, reports where they differ and saves a case that is made as small as it can be. The
modules `differences` and `equal_victims` define the compared values and the choices that kube-scheduler leaves open.
"""
