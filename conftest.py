"""Doctests are collected from all of src: without triton, not from the kernels that are written in it."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("triton") else ["src/dissensus/training/fused/*"]
