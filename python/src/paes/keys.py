# SPDX-License-Identifier: Apache-2.0
"""Converts keys from the forms that callers like to those that the library takes."""

from __future__ import annotations

import copyreg
import os
import re
from collections.abc import Iterable
from typing import Any, NoReturn, TypeAlias

from paes import _paes
from paes._paes import CobblestoneKey, Identity, Passphrase, Recipient, VaultKey
from paes.errors import UsageError

# The path of a file of identities, or the text of one.
IdentityLike: TypeAlias = "Identity | str | os.PathLike[str]"
Identities: TypeAlias = "IdentityLike | Iterable[IdentityLike] | None"
RecipientLike: TypeAlias = "Recipient | str"
Recipients: TypeAlias = "RecipientLike | Iterable[RecipientLike] | None"
PassphraseLike: TypeAlias = "Passphrase | str | None"


def _pickled(recipient: Recipient) -> tuple[type[Recipient], tuple[str]]:
    if not str(recipient):
        raise TypeError("cannot pickle a recipient that only its plugin knows")
    return Recipient, (str(recipient),)


def _refuse_to_pickle(secret: object) -> NoReturn:
    raise TypeError(f"cannot pickle '{type(secret).__name__}' object: a secret does not travel")


# Public keys are public data, which programs send to their workers. Nothing else is.
copyreg.pickle(Recipient, _pickled)
for _secret in (CobblestoneKey, Identity, Passphrase, VaultKey):
    copyreg.pickle(_secret, _refuse_to_pickle)


def passphrase_of(given: PassphraseLike) -> Passphrase | None:
    """Make a passphrase of what was given as one."""
    if given is None or isinstance(given, Passphrase):
        return given
    if isinstance(given, str):
        return Passphrase(given)
    raise TypeError(f"passphrase: text or a Passphrase, not {type(given).__name__}")


def _recipient(given: RecipientLike) -> Recipient:
    if isinstance(given, Recipient):
        return given
    if isinstance(given, str):
        return Recipient(given)
    raise TypeError(f"recipients: text or a Recipient, not {type(given).__name__}")


def recipients_of(given: Recipients) -> list[Recipient]:
    """Make a list of recipients."""
    if given is None:
        return []
    several = [given] if isinstance(given, (Recipient, str, bytes)) else given
    return [_recipient(one) for one in several]


# A file may have a plugin's name; a key ends with a checksum.
_SECRET_KEY = re.compile(r"AGE-SECRET-KEY-|AGE-PLUGIN-.*-1[0-9A-Z]{6}", re.IGNORECASE)


def _is_text_of_a_key(given: str) -> bool:
    # Only a file of keys has more than one line.
    if "\n" in given.strip():
        return True
    # The number in a file's name may look like the end of a key.
    return _SECRET_KEY.search(given) is not None and not os.path.exists(given)


def _identities(given: Identities) -> list[Identity]:
    if given is None:
        return []
    several = [given] if isinstance(given, (Identity, str, bytes, os.PathLike)) else given
    result: list[Identity] = []
    for one in several:
        if isinstance(one, Identity):
            result.append(one)
        elif isinstance(one, str) and _is_text_of_a_key(one):
            # Taken as a path, the key would appear in the message that there is no such file.
            result.append(Identity(one.strip()))
        elif isinstance(one, (str, os.PathLike)):
            result.extend(Identity.load(one))
        else:
            raise TypeError(f"identity: a path, text or an Identity, not {type(one).__name__}")
    return result


def seal_for(
    recipients: Recipients, passphrase: PassphraseLike, key: CobblestoneKey | None, key_bits: int
) -> _paes.SealFor:
    """Collect what to encrypt for."""
    return _paes.SealFor(
        recipients=recipients_of(recipients),
        passphrase=passphrase_of(passphrase),
        key=key,
        key_bits=key_bits,
    )


def open_with(
    identity: Identities,
    passphrase: PassphraseLike,
    key: CobblestoneKey | None,
    max_work_factor: int,
) -> _paes.OpenWith:
    """Collect what may open a file."""
    return _paes.OpenWith(
        identities=_identities(identity),
        passphrase=passphrase_of(passphrase),
        key=key,
        max_work_factor=max_work_factor,
    )


_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")


def path_here(option: str, given: str) -> str:
    """Return a path whose "~" and variables of the environment are replaced by this process's."""
    if os.path.exists(given) or _is_text_of_a_key(given):
        return given

    def value(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        if name not in os.environ:
            raise UsageError(f"{option}: this process has no {name} in its environment")
        return os.environ[name]

    return os.path.expanduser(_VARIABLE.sub(value, given))


def returned(given: Any) -> Any:
    """Return what a function returns, and anything else as it is."""
    return given() if callable(given) else given


def identities_here(given: Any) -> Any:
    """Return identities as open_with takes them.

    A function is called, and a path may begin with "~" and contain variables of the environment.
    All of that is this process's own, so the same words mean its own key on each machine.
    """
    given = returned(given)
    if isinstance(given, str):
        return path_here("identity", given)
    if given is None or isinstance(given, (Identity, bytes, os.PathLike)):
        return given
    return [path_here("identity", one) if isinstance(one, str) else one for one in given]


# Options that name the file of a secret.
_FILES = ("identity", "passphrase_file", "master_key_file")


def refuse_to_travel(name: str, given: Any) -> None:
    """Raise TypeError if an option contains a secret instead of naming one."""
    several = given if isinstance(given, (list, tuple, set)) else [given]
    for one in several:
        is_path = isinstance(one, (str, os.PathLike)) and name in _FILES
        if is_path and not (isinstance(one, str) and _is_text_of_a_key(one)):
            continue
        if one is not None and not callable(one):
            named = "its file, or " if name in _FILES else ""
            raise TypeError(
                f"{name}: a secret does not travel: name {named}a function returning it"
            )
