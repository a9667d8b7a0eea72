# SPDX-License-Identifier: Apache-2.0
"""How a file system goes to other processes, and what it is called: by options without secrets."""

from __future__ import annotations

from typing import Any, ClassVar

from fsspec.spec import AbstractFileSystem
from fsspec.utils import tokenize

from paes.keys import refuse_to_travel


class Travelling(AbstractFileSystem):  # type: ignore[misc]
    """A file system on another one, whose options may contain secrets."""

    # The options that may.
    SECRETS: ClassVar[tuple[str, ...]] = ()

    fs: Any

    def _refuse_secrets(self) -> None:
        for name in self.SECRETS:
            refuse_to_travel(name, self.storage_options.get(name))

    def __reduce__(self) -> Any:
        """Pickle the options, none of which may be a secret."""
        self._refuse_secrets()
        return super().__reduce__()

    def to_dict(self, *, include_password: bool = True) -> dict[str, Any]:
        """Return the options, none of which may be a secret."""
        self._refuse_secrets()
        found: dict[str, Any] = super().to_dict(include_password=include_password)
        return found

    @property
    def _fs_token(self) -> str:
        # Equal options give equal tokens, in every process. A secret's object counts, and not what
        # it contains.
        public = {name: value for name, value in self.storage_options.items() if name != "fs"}
        try:
            self._refuse_secrets()
        except TypeError:
            public = {"id": id(self)}
        token: str = tokenize(type(self), self._below(), sorted(public.items(), key=str))
        return token

    def _below(self) -> Any:
        """Return what tells the file system below from others."""
        return type(self.fs), self.fs.storage_args, sorted(self.fs.storage_options.items())
