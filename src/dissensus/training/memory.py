"""Whether GPU memory has run out."""

from __future__ import annotations

import torch


def memory_ran_out(error: BaseException | None) -> bool:
    """Whether an error is, or comes from, a lack of GPU memory: torch tells it in two ways, and one in the middle of a
    capture brings others.
    """
    while error is not None:
        if isinstance(error, torch.cuda.OutOfMemoryError) or "CUDA error: out of memory" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False
