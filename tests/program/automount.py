# SPDX-License-Identifier: Apache-2.0
# Plays the automounter: what is mounted at a folder when somebody first walks in there, as autofs and
# systemd's .automount do it. A program of its own, because whoever serves a mount must not wait for it.
import contextlib
import ctypes
import fcntl
import os
import signal
import struct
import subprocess
import sys

import program
import pytest

MS_BIND = 4096
MNT_DETACH = 2
IOC_READY, IOC_FAIL = 0x9360, 0x9361
MISSING_DIRECT = 5  # of struct autofs_v5_packet

libc = ctypes.CDLL(None, use_errno=True)


def mount(source, target, kind, flags, data):
    words = [word.encode() if word is not None else None for word in (source, target, kind)]
    if libc.mount(*words, flags, data.encode() if data is not None else None) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), target)


def serve(trap, real):
    os.setpgrp()
    requests, write_end = os.pipe()
    options = f"fd={write_end},pgrp={os.getpgrp()},minproto=5,maxproto=5,direct"
    try:
        mount("autofs", trap, "autofs", 0, options)
    except OSError as error:
        print(error, flush=True)
        return
    root = os.open(trap, os.O_RDONLY | os.O_DIRECTORY)

    def end(*_):
        os.close(root)
        while libc.umount2(trap.encode(), MNT_DETACH) == 0:
            pass
        os._exit(0)

    signal.signal(signal.SIGTERM, end)
    print("ready", flush=True)
    while True:
        _, kind, token = struct.unpack("<iiI", os.read(requests, 300)[:12])
        if kind == MISSING_DIRECT:
            try:
                mount(real, trap, None, MS_BIND, None)
                fcntl.ioctl(root, IOC_READY, token)
            except OSError:
                fcntl.ioctl(root, IOC_FAIL, token)


@contextlib.contextmanager
def at(trap, real):
    """The folder `real` appears at `trap` when somebody walks in. Skips where there is no autofs."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount")
    server = subprocess.Popen(
        [sys.executable, __file__, trap, real], stdout=subprocess.PIPE, text=True,
        env=program.clean_environment(PYTHONPATH=os.pathsep.join(sys.path)),
    )
    try:
        answer = server.stdout.readline().strip()
        if answer != "ready":
            pytest.skip(f"no autofs here: {answer}")
        yield
    finally:
        server.terminate()
        server.wait(timeout=30)


if __name__ == "__main__":
    serve(*sys.argv[1:])
