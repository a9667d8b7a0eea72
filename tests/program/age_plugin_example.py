# SPDX-License-Identifier: Apache-2.0
"""An age plugin (c2sp.org/age-plugin) for tests. Its key is the same in recipient and identity. An identity
without data stands for the default key.

PAES_PLUGIN_MANNERS says how it behaves, in words: labels, ask, confirm, show, error, die, silent, garbage,
unknown, twice, deaf, descriptors, flood, more, passphrase, and those of MALFORMED. PAES_PLUGIN_LOG names a file
that gets a line for every command that it is given.
"""

import base64
import hashlib
import os
import sys
import time

import age_file

NAME = "example"
STANZA = "paes.example/plugin"
DEFAULT_KEY = b"the default key."
MANNERS = os.environ.get("PAES_PLUGIN_MANNERS", "").split()
IN, OUT = sys.stdin.buffer, sys.stdout.buffer


def recipient(key, name=NAME):
    return age_file.bech32(f"age1{name}", key)


def identity(key):
    return age_file.bech32(f"AGE-PLUGIN-{NAME.upper()}-", key)


def key_of(text):
    return age_file.bech32_data(text) or DEFAULT_KEY


def decode(text):
    return base64.b64decode(text + "=" * (-len(text) % 4))


def send(*words, body=b""):
    OUT.write(age_file.stanza([word.encode() for word in words], body))
    OUT.flush()


def receive():
    words = IN.readline().decode().rstrip("\n").split(" ")[1:]
    text = ""
    while True:
        line = IN.readline().decode().rstrip("\n")
        text += line
        if len(line) < 64:
            break
    log(*words)
    return words, decode(text)


def ask(*words, body=b""):
    send(*words, body=body)
    return receive()


def mask(key, salt):
    return hashlib.sha256(key + salt).digest()


def xor(a, b):
    return bytes(x ^ y for x, y in zip(a, b))


def collect():
    """What the client says before it waits."""
    said = []
    while True:
        words, body = receive()
        if words == ["done"]:
            return said
        said.append((words, body))


def log(*words):
    if "PAES_PLUGIN_LOG" in os.environ:
        with open(os.environ["PAES_PLUGIN_LOG"], "a", encoding="ascii") as file:
            print(*words, file=file)


def behave():
    if "descriptors" in MANNERS:
        # The last one is that of the listing itself.
        log("descriptors", *sorted(os.listdir("/proc/self/fd"), key=int)[:-1])
    if "die" in MANNERS:
        sys.exit(1)
    if "garbage" in MANNERS:
        OUT.write(b"what?\n\n")
        OUT.flush()
    if "show" in MANNERS:
        assert ask("msg", body=b"touch the \x1b[31mkey") == (["ok"], b"")
    if "ask" in MANNERS:
        words, body = ask("request-secret", body=b"PIN")
        if words != ["ok"] or body != b"1234":
            send("error", "internal", body=b"wrong PIN")
            receive()
            send("done")
            sys.exit(0)
        assert ask("request-public", body=b"Colour") == (["ok"], b"green")
    if "confirm" in MANNERS:
        yes, no = (base64.b64encode(word).rstrip(b"=").decode() for word in (b"go on", b"\x1b[2Jstop"))
        assert ask("confirm", yes, no, body=b"Shall I?") == (["ok", "no"], b"")
    if "unknown" in MANNERS:
        assert ask("example-grease", "a", body=b"b") == (["unsupported"], b"")
    if "error" in MANNERS:
        send("error", "internal", body=b"no key\nis plugged in")
        receive()
        send("done")
        sys.exit(0)


# Stanzas that no reader takes, and those that it takes only alone.
MALFORMED = {
    "short": (("X25519", "A" * 43), b""),
    "sealed": (("scrypt", "AAAA", "18"), bytes(32)),
    "alone": (("scrypt", "A" * 22, "18"), bytes(32)),
    "hybrid": (("mlkem768x25519", "AAAA"), bytes(32)),
    "rsa": (("ssh-rsa", "AAAAAA"), bytes(20)),
}


def wrap():
    said = collect()
    behave()
    for words, body in (MALFORMED[manner] for manner in MANNERS if manner in MALFORMED):
        ask("recipient-stanza", "0", *words, body=body)
    while "flood" in MANNERS:
        ask("msg", body=b"more")
    while "more" in MANNERS:
        ask("recipient-stanza", "0", STANZA, body=bytes(40000))
    for words, _ in said:
        if words[0] not in ("add-recipient", "add-identity"):
            continue
        key = key_of(words[1])
        for file_key in (body for others, body in said if others[0] == "wrap-file-key"):
            for _ in range(2 if "twice" in MANNERS else 1):
                salt = os.urandom(16)
                wrapped = xor(file_key, mask(key, salt)) + hashlib.sha256(file_key + salt).digest()
                if "passphrase" in MANNERS:  # the plugin alone knows what it was wrapped under
                    ask("recipient-stanza", "0", "scrypt", base64.b64encode(salt).decode().rstrip("="), "18",
                        body=wrapped[:32])
                elif "silent" not in MANNERS:
                    ask("recipient-stanza", "0", STANZA, salt.hex(), body=wrapped)
    if "labels" in MANNERS:
        ask("labels", "postquantum")
    send("done")


def unwrap():
    said = collect()
    behave()
    keys = [key_of(words[1]) for words, _ in said if words[0] == "add-identity"]
    for words, body in said:
        if words[:3] == ["recipient-stanza", "0", "scrypt"] and "passphrase" in MANNERS:
            salt = decode(words[3])
        elif words[:3] == ["recipient-stanza", "0", STANZA]:
            salt = bytes.fromhex(words[3])
        else:
            continue
        for key in keys:
            file_key = xor(body[:16], mask(key, salt))
            if hashlib.sha256(file_key + salt).digest().startswith(body[16:]):
                ask("file-key", "0", body=file_key)
                send("done")
                return
    send("done")


if __name__ == "__main__":
    if "deaf" in MANNERS:
        log("deaf")
        time.sleep(600)
    {"--age-plugin=recipient-v1": wrap, "--age-plugin=identity-v1": unwrap}[sys.argv[1]]()
