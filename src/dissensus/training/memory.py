"""Whether GPU memory has run out."""

from __future__ import annotations

import torch

LACKS = ("out of memory", "STATUS_ALLOC_FAILED")  # of CUDA and its driver, and of cuBLAS and cuDNN


def memory_ran_out(error: BaseException | None) -> bool:
    """Whether an error is, or comes from, a lack of GPU memory: torch and what it calls tell it in several ways, and
    one in the middle of a capture brings others.

    >>> memory_ran_out(RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"))
    True
    """
    while error is not None:
        if isinstance(error, torch.cuda.OutOfMemoryError):
            return True
        if isinstance(error, RuntimeError) and any(lack in str(error) for lack in LACKS):
            return True
        error = error.__cause__ or error.__context__
    return False
