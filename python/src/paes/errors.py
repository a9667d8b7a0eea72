# SPDX-License-Identifier: Apache-2.0
"""The exceptions of paes.

Each is also the built-in exception that a caller would expect. If cryptography can be imported,
they derive from its exceptions, too, so that code that catches those catches ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:

    class _InvalidTag(Exception):
        pass

    class _AlreadyFinalized(Exception):
        pass

else:
    try:
        from cryptography.exceptions import AlreadyFinalized as _AlreadyFinalized
        from cryptography.exceptions import InvalidTag as _InvalidTag
    except ImportError:

        class _InvalidTag(Exception):
            pass

        class _AlreadyFinalized(Exception):
            pass


__all__ = [
    "AlreadyFinalized",
    "AuthenticationError",
    "CorruptError",
    "Error",
    "FailureError",
    "UsageError",
    "WrongKeyError",
]


class Error(Exception):
    """The base of all errors of paes. `hint` says what the user can do about it, or is empty."""

    def __init__(self, message: str, hint: str = "") -> None:
        """Take the one line of the error, "WHAT: WHY"."""
        super().__init__(message)
        self.hint = hint

    def __str__(self) -> str:
        """Return the line, and the hint after it."""
        message = str(self.args[0]) if self.args else ""
        return f"{message} ({self.hint})" if self.hint else message


class UsageError(Error, ValueError):
    """The request makes no sense: names, sizes, or an IV that was used before."""


class FailureError(Error, OSError):
    """The system failed (a disk, memory, threads), or a caller stopped the work."""


class AuthenticationError(Error, _InvalidTag, ValueError):
    """The data are not what someone with the key sealed."""


class WrongKeyError(AuthenticationError):
    """None of the given keys opens the data."""


class CorruptError(AuthenticationError):
    """The data are damaged, forged or cut, or never came from paes."""


class AlreadyFinalized(UsageError, _AlreadyFinalized):
    """The stream has ended."""
