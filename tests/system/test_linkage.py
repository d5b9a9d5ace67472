"""What the thin client is linked with and loads."""

import subprocess
from pathlib import Path

import pytest

from dvm import BIN, wait_until

FOREIGN_LIBRARIES = ("libpmix", "libhwloc", "libmunge", "libevent")
# None that our messages speak of.
FOREIGN_SYMBOLS = (b"PMIx_Register_event_handler", b"PMIx_tool_init", b"hwloc_topology_init", b"hwloc_topology_load")
CLIENT_NAMES = ("prun", "prterun", "pterm", "prte_info")


def test_client_is_linked_with_neither_pmix_nor_hwloc():
    done = subprocess.run(["ldd", BIN / "tide"], capture_output=True, text=True, timeout=30)
    libraries = done.stdout + done.stderr
    assert "=>" in libraries or "statically linked" in libraries or "not a dynamic" in libraries
    assert not [name for name in FOREIGN_LIBRARIES if name in libraries], libraries


def test_client_holds_neither_pmix_nor_hwloc():
    """Linked statically they would be inside."""
    text = (BIN / "tide").read_bytes()
    assert text.startswith(b"\x7fELF")
    assert not [name for name in FOREIGN_SYMBOLS if name in text]


@pytest.mark.parametrize("name", CLIENT_NAMES)
def test_compatible_names_are_the_same_program(name):
    assert (BIN / name).resolve() == (BIN / "tide").resolve()


@pytest.mark.user
def test_running_client_has_loaded_neither(dvm):
    client = dvm.start("prun", "-n", "1", "sh", "-c", "echo up; exec sleep 1000")
    assert client.stdout.readline() == "up\n"
    loaded = Path(f"/proc/{client.pid}/maps").read_text()
    assert not [name for name in FOREIGN_LIBRARIES if name in loaded]
    client.terminate()
    wait_until(lambda: client.poll() is not None, what="the client ends")
