# SPDX-License-Identifier: Apache-2.0
# fido2-cred and fido2-assert of libfido2 without a token: the file DEVICE is the token, and its content the
# key in it. As with a real one, each credential has a secret of its own, and the token knows its own
# credentials. `FIDO2_MANNERS` says how it behaves, `FIDO2_LOG` where it tells what it was asked.
import base64
import hashlib
import hmac
import json
import os
import signal
import sys
import termios
import time
from pathlib import Path

PIN = "1234"
ID_BYTES = 32


def mac(key, data):
    return hmac.new(key, data, hashlib.sha256).digest()


def secret_of(key, credential, salt):
    return mac(mac(key, b"secret of " + credential), salt)


def fail(program, why):
    sys.stderr.write(f"libusb: warning: unimportant\n{program}: {why}\n")
    sys.exit(1)


def ask_pin(device):
    """As readpassphrase(3) does: at the terminal, without echo, and with the echo on again at a SIGTERM."""
    with open("/dev/tty", "r+b", buffering=0) as terminal:
        before = termios.tcgetattr(terminal)
        silent = before[:3] + [before[3] & ~termios.ECHO] + before[4:]

        def restore(*_):
            termios.tcsetattr(terminal, termios.TCSANOW, before)
            sys.exit(1)

        signal.signal(signal.SIGTERM, restore)
        termios.tcsetattr(terminal, termios.TCSAFLUSH, silent)
        terminal.write(f"Enter PIN for {device}: ".encode())
        typed = terminal.readline().decode().strip()
        termios.tcsetattr(terminal, termios.TCSANOW, before)
    return typed


def said_by_process(pid):
    place = Path("/proc") / str(pid)
    return {name: (place / name).read_bytes().decode(errors="replace") for name in ("cmdline", "environ")}


def main(program, *arguments):
    manners = os.environ["FIDO2_MANNERS"].split()
    if "deaf" in manners:
        sys.exit(0)
    asked = sys.stdin.read()
    listed = [number for number in map(int, os.listdir("/proc/self/fd")) if number > 2]
    descriptors = [number for number in listed if os.path.lexists(f"/proc/self/fd/{number}")]
    with open(os.environ["FIDO2_LOG"], "a") as log:
        log.write(json.dumps({
            "program": program,
            "arguments": arguments,
            "asked": asked.split("\n"),
            "own": said_by_process("self"),
            "caller": said_by_process(os.getppid()),
            "descriptors": descriptors,
        }) + "\n")
    for manner in manners:
        if manner == "stubborn":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if manner in ("hangs", "stubborn"):
            Path(os.environ["FIDO2_LOG"]).with_name("hangs").write_text(str(os.getpid()))
            time.sleep(100)
        if manner == "lasts":  # says all there is to say, and does not end
            os.close(1)
            os.close(2)
            time.sleep(100)
        if manner == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if manner == "silent":
            sys.exit(0)
        if manner == "fails":
            sys.exit(3)
        if manner.startswith("says="):
            sys.stdout.write("a\nb\nc\nd\n" + manner.removeprefix("says=") + "\n")
            sys.exit(0)
        if manner == "endless":
            while True:
                sys.stdout.write("x" * 1000)
    device = arguments[-1]
    try:
        key = Path(device).read_bytes()
    except OSError:
        fail(program, f"fido_dev_open {device}: FIDO_ERR_INTERNAL\x1b[1m")
    if "pin" in manners and ask_pin(device) != PIN:
        fail(program, "fido_dev_get_assert: FIDO_ERR_PIN_INVALID")
    challenge, relying_party, third, fourth, end = asked.split("\n")
    assert len(base64.b64decode(challenge, validate=True)) == 32 and end == ""

    def put(*lines):
        sys.stdout.write("".join(
            (line if isinstance(line, str) else base64.b64encode(line).decode()) + "\n" for line in lines
        ))

    if program == "fido2-cred":
        assert arguments[:-1] == ("-M", "-h") and third and len(base64.b64decode(fourth, validate=True)) == 32
        credential = os.urandom(ID_BYTES)
        credential += mac(key, credential)
        put(challenge, relying_party, "packed", b"authenticator data", credential, b"signature", b"x" * 900)
        return
    assert arguments[:2] == ("-G", "-h") and len(arguments[2:-1]) % 2 == 0
    assert set(arguments[2:-1:2]) <= {"-t"}
    credential, salt = (base64.b64decode(text, validate=True) for text in (third, fourth))
    if mac(key, credential[:ID_BYTES]) != credential[ID_BYTES:] and "forgetful" not in manners:
        fail(program, "fido_dev_get_assert: FIDO_ERR_NO_CREDENTIALS")
    put(challenge, relying_party, b"authenticator data", b"signature", secret_of(key, credential, salt))


if __name__ == "__main__":
    main(*sys.argv[1:])
