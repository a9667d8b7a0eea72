# SPDX-License-Identifier: Apache-2.0
"""Bytes for tests."""

from __future__ import annotations

import hashlib


def varied_bytes(size: int, seed: int = 0) -> bytes:
    """Bytes that differ from place to place, the same in each run."""
    return hashlib.shake_128(seed.to_bytes(8, "little")).digest(size)
