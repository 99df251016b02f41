from __future__ import annotations

import pytest


@pytest.fixture
def write(tmp_path):
    """Writes text or bytes to a file and gives its path."""

    def write(content, name="votes.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write
