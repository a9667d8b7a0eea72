# SPDX-License-Identifier: Apache-2.0
"""An object store in this process that counts what is asked of it: moto's S3."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import fsspec
import pytest

# All stores of a process have the same buckets.
_buckets = itertools.count(1)


@dataclass
class Asked:
    """What was asked of the store since the last reset()."""

    requests: list[tuple[str, str, int]] = field(default_factory=list)
    ranges: set[tuple[str, str]] = field(default_factory=set)
    sent: int = 0  # the bytes of all bodies

    def reset(self) -> None:
        self.requests.clear()
        self.ranges.clear()
        self.sent = 0

    def note(self, request: tuple[str, str, int], asked_range: str) -> None:
        """Counts a request. On a busy machine s3fs asks once more for a range whose answer it has
        not got: that is one request, and its bytes count twice."""
        self.sent += request[2]
        place = (request[1], asked_range)
        if asked_range and place in self.ranges:
            return
        if asked_range:
            self.ranges.add(place)
        self.requests.append(request)

    def of(self, method: str) -> list[tuple[str, str, int]]:
        return [one for one in self.requests if one[0] == method]


@dataclass
class Store:
    """Where the store is, and what was asked of it."""

    options: dict[str, Any]
    asked: Asked

    @property
    def s3(self) -> Any:
        return fsspec.filesystem("s3", **self.options)

    def hold(self, path: str, data: bytes) -> None:
        """Put an object there without a request."""
        from moto.s3.models import s3_backends

        bucket, _, name = path.partition("/")
        s3_backends["123456789012"]["aws"].put_object(bucket, name, data)

    def new_bucket(self) -> str:
        name = f"bucket{next(_buckets)}"
        self.s3.mkdir(name)
        self.asked.reset()
        return name


@contextmanager
def running_store() -> Iterator[Store]:
    pytest.importorskip("s3fs", reason="s3fs is not installed")
    moto = pytest.importorskip("moto.server", reason="moto[server] is not installed")
    serving = pytest.importorskip("werkzeug.serving", reason="moto[server] is not installed")
    asked = Asked()
    answer = moto.DomainDispatcherApplication(moto.create_backend_app)

    def count(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        body = b"".join(answer(environ, start_response))
        query = environ.get("QUERY_STRING", "")
        asked.note(
            (environ["REQUEST_METHOD"], f"{environ['PATH_INFO']}?{query}", len(body)),
            environ.get("HTTP_RANGE", ""),
        )
        return [body]

    server = serving.make_server("127.0.0.1", 0, count, threaded=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    # Where a proxy leads to the world outside, it leads away from this server.
    direct = mock.patch.dict(os.environ, no_proxy="127.0.0.1", NO_PROXY="127.0.0.1")
    try:
        with direct:
            yield Store(
                {
                    "key": "who",
                    "secret": "what",
                    "client_kwargs": {"endpoint_url": f"http://127.0.0.1:{server.server_port}"},
                },
                asked,
            )
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
