"""A method is a delivery and the few changes of the recipe that belong to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Method:
    """A delivery by its name in DELIVERIES, and the fields of the recipe that it changes."""

    name: str
    delivery: str
    recipe: dict[str, Any] = field(default_factory=dict)
