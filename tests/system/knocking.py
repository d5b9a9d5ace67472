"""Callers at a DVM's doors that do not keep to the rules: what they send, byte by byte."""

import json
import socket
import struct
import subprocess
import sys
import textwrap
import time
from pathlib import Path

SILENT_CROWD = textwrap.dedent("""
    import resource, socket, sys, time
    kind, where, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    held = []
    for _ in range(count):
        s = socket.socket(socket.AF_UNIX if kind == "local" else socket.AF_INET)
        s.connect(where if kind == "local" else ("127.0.0.1", int(where)))
        held.append(s)
    print("all", flush=True)
    sys.stdin.read()
""")


def silent_crowd(kind, where, count):
    """A process that opens so many connections, says "all" and holds them until its input ends."""
    return subprocess.Popen([sys.executable, "-c", SILENT_CROWD, kind, str(where), str(count)],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def disperse(crowd):
    crowd.stdin.close()
    crowd.wait(timeout=30)
    crowd.stdout.close()


def info(dvm):
    return json.loads((dvm.run_directory() / "dvm.json").read_text())


def link_port(dvm):
    return int(info(dvm)["link_uri"].rsplit(":", 1)[1])


def pmix_port(dvm, node):
    return int(Path(dvm.pmix_file(node)).read_text().splitlines()[0].rsplit(":", 1)[1])


def local_socket(dvm):
    return str(dvm.run_directory() / "sock")


def varint(value):
    out = b""
    while value > 0x7F:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def text(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def frame(header, payload=b""):
    body = struct.pack("<II", len(header), len(payload)) + header + payload
    return struct.pack("<IBB", len(body), 0, 0) + body


def client_hello(protocol=1, oldest=1):
    return frame(text(2, number(1, protocol) + number(2, oldest)))


def status_request(count=1):
    return b"".join(frame(number(1, 7) + text(5, number(1, 1))) for _ in range(count))


def link_hello(dvm_id, rank, ticket, campaign=1, protocol=1, oldest=1):
    fields = (number(1, protocol) + number(2, oldest) + text(3, dvm_id) + number(4, rank)
              + number(5, ticket) + number(6, campaign))
    return frame(text(1, fields))


def tcp(port, first=b""):
    caller = socket.create_connection(("127.0.0.1", port), timeout=10)
    caller.sendall(first)
    return caller


def local(path, first=b""):
    caller = socket.socket(socket.AF_UNIX)
    caller.settimeout(10)
    caller.connect(path)
    caller.sendall(first)
    return caller


def read_to_end(caller):
    """All that comes until the other side ends it; fails when it does not."""
    out = b""
    while True:
        try:
            data = caller.recv(65536)
        except ConnectionResetError:
            return out
        if not data:
            return out
        out += data


def with_key(port, dvm_id, key, said, options=()):
    """What the other side answers to `said` over TLS with this key; s_client ends when it does, or
    when the other side has ended the connection."""
    client = subprocess.Popen(["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-tls1_3", "-quiet", "-psk",
                               key.hex(), "-psk_identity", dvm_id, "-ciphersuites", "TLS_AES_128_GCM_SHA256",
                               *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    client.stdin.write(said)
    client.stdin.flush()
    deadline = time.monotonic() + 20
    while client.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    ended = client.poll() is not None
    client.kill()
    out = client.stdout.read()
    client.stdin.close()
    client.stdout.close()
    client.wait()
    assert ended, "the other side did not end the connection"
    return out
