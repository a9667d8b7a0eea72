# SPDX-License-Identifier: Apache-2.0
"""What all tests of the Python package share. They test the `paes` that is installed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import paes

IS_EXHAUSTIVE = os.environ.get("PAES_EXHAUSTIVE") == "1"

# A shell that starts the tests in the background has them ignore Ctrl-C, and so their children.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "paes",
    max_examples=400 if IS_EXHAUSTIVE else 30,
    deadline=None,  # other work may share the cores
    database=None,  # nothing is written beside the sources
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("paes")

Seal = Callable[..., Path]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder."""
    return tmp_path


@pytest.fixture(scope="session")
def key_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with one identity."""
    path = tmp_path_factory.mktemp("keys") / "key.txt"
    paes.keygen(path)
    return path


@pytest.fixture(scope="session")
def identity(key_file: Path) -> paes.Identity:
    [loaded] = paes.Identity.load(key_file)
    return loaded


@pytest.fixture(scope="session")
def recipient(identity: paes.Identity) -> paes.Recipient:
    return identity.recipient


@pytest.fixture
def seal(folder: Path, recipient: paes.Recipient) -> Seal:
    """Returns a function that encrypts a text into a file for `recipient`."""

    def encrypt(text: bytes, name: str = "sealed.paes", **options: object) -> Path:
        path = folder / name
        options = options or {"recipients": recipient}
        with paes.open(path, "wb", **options) as file:
            file.write(text)
        return path

    return encrypt


@pytest.fixture
def python(folder: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Returns a function that runs a program in a Python of its own, in `folder`."""

    def run(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", program, *map(str, arguments)],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=100,
        )

    return run
