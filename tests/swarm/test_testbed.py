"""The testbed does what it says, and leaves nothing."""

import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from bed import COMMAND, Bed, command, process_table
from dvm import is_alive, wait_until
from swarmlib import client
from swarmlib.place import Place

PING_S = 1  # how long a connection attempt to somebody silent is waited for
REFUSED, SILENT = "refused", "timed out"


@pytest.fixture(scope="module")
def small_bed():
    with Bed(4, "--second-net") as bed:
        yield bed


@pytest.fixture
def small(small_bed):
    yield small_bed
    small_bed.mend()


@pytest.fixture
def folder():
    """A state directory of which nothing is up at the end."""
    with tempfile.TemporaryDirectory(prefix="sw") as name:
        try:
            yield Path(name) / "state"
        finally:
            command(Path(name) / "state", "down")


def ssh(bed, sender, receiver, *words):
    return bed.run(sender, "ssh", "-o", f"ConnectTimeout={PING_S}", receiver, *(words or ["hostname"]))


def reaches(bed, sender, receiver):
    """"" where a connection is made and answered, else how it fails."""
    done = ssh(bed, sender, receiver)
    if done.returncode == 0:
        assert done.stdout.strip() == receiver.split("-")[0]
        return ""
    return REFUSED if "refused" in done.stderr else SILENT if "timed out" in done.stderr else done.stderr


def left_of(folder):
    """Cgroups and mounts of this swarm."""
    group = Place(folder).cgroup()
    with open("/proc/self/mounts") as mounts:
        return [line for line in mounts if str(folder) in line] + ([str(group)] if group and group.exists() else [])


def pids_of_nodes(folder):
    nodes = json.loads(command(folder, "list", "--json", check=True).stdout)["nodes"]
    return [node["pid"] for node in nodes]


# ---- life ----

def test_every_node_reaches_every_other_by_name(small):
    receivers = [f"{name}{net}" for name in small.names() for net in ("", "-net2")]
    everybody = "for n in $*; do ssh $n 'echo $(hostname) $SSH_CONNECTION' & done; wait"
    for number, sender in enumerate(small.names(), 1):
        done = small.run(sender, "sh", "-c", everybody, "sh", *receivers)
        answers = [line.split() for line in done.stdout.splitlines()]
        assert sorted(words[0] for words in answers) == sorted(2 * small.names()), done.stderr
        own = {f"10.{net}.0.{number}" for net in (77, 78)}
        assert {words[1] for words in answers} <= own | {"127.0.0.1"}


def test_what_belongs_to_a_node_is_its_own(small):
    for name in small.names():
        written = small.run(name, "sh", "-c", "for d in /tmp /run /dev/shm ~; do hostname > $d/mine; done; hostname")
        assert written.stdout.strip() == name, written.stderr
    for name in small.names():
        read = ssh(small, "node1", name, "cat /tmp/mine /run/mine /dev/shm/mine ~/mine")
        assert read.stdout.split() == [name] * 4
        assert (small.disk(name) / "mine").read_text().strip() == name
    small.run("node1", "sh", "-c", "for n in 1 2 3 4; do ssh node$n 'rm /tmp/mine /dev/shm/mine'; done")


def test_a_session_says_that_the_machine_is_shared(small):
    assert ssh(small, "node1", "node2", "echo $TIDE_SHARED_HOST").stdout == "1\n"
    assert small("run", "node2", "sh", "-c", "echo $TIDE_SHARED_HOST") == "1\n"


def test_the_checkout_is_visible_where_it_is(small):
    assert ssh(small, "node1", "node2", f"cat {Path(__file__).resolve()}").stdout == Path(__file__).read_text()


def test_an_unknown_name_fails_at_once(small):
    began = time.monotonic()
    done = ssh(small, "node1", "nowhere.example")
    assert done.returncode == 255 and "resolve" in done.stderr
    assert time.monotonic() - began < 3


def test_run_passes_on_status_output_and_directory(small):
    assert command(small.folder, "run", "node1", "sh", "-c", "exit 7").returncode == 7
    assert command(small.folder, "run", "node1", "sh", "-c", "kill -9 $$").returncode == 137
    assert small("run", "node1", "pwd").strip() == os.getcwd()
    assert command(small.folder, "run", "node1", "no-such-program").returncode == 127


def test_run_ends_what_takes_too_long_with_all_it_started(small):
    began = time.monotonic()
    done = command(small.folder, "run", "--limit", "0.5", "node1", "sh", "-c", "sleep 999 & sleep 999")
    assert done.returncode == 124 and "no end within" in done.stderr
    assert time.monotonic() - began < 10
    wait_until(lambda: not small.processes(["node1"]), what="nothing of it is left")


def test_run_that_is_killed_takes_its_command_along(small):
    runner = subprocess.Popen([str(COMMAND), "run", "node1", "sleep", "999"], env={**os.environ, "SWARM_DIR": str(small.folder)})
    wait_until(lambda: small.processes(["node1"]), what="it runs")
    runner.kill()
    runner.wait()
    wait_until(lambda: not small.processes(["node1"]), what="it is gone")


def test_list_shows_what_was_done(small):
    small.crash("node2")
    small.cut("node3", net=2)
    small("slow", "node4", "--delay", "5ms", "--rate", "50mbit", "--net", "1")
    small("block", "node1", "node4")
    one, two, three, four = small.nodes()
    assert (one["state"], one["links"], one["cannot_send_to"]) == ("up", ["ok", "ok"], ["node4"])
    assert (two["state"], two["pid"]) == ("down", None)
    assert three["links"] == ["ok", "cut"]
    assert four["links"] == ["delay 5 ms, rate 50mbit", "ok"]
    text = small("list")
    assert re.search(r"^node2 +down", text, re.MULTILINE) and "cannot send to node4" in text


# ---- faults ----

def open_connection(bed, sender, receiver):
    """A session that says "up" and then waits for ever."""
    process = subprocess.Popen(bed.argv(sender, "ssh", receiver, "echo up; exec sleep 999"), stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True, env=bed.swarm.environment())
    assert process.stdout.readline() == "up\n"
    return process


def test_a_crash_closes_connections_and_refuses_new_ones(small):
    session = open_connection(small, "node1", "node2")
    small.crash("node2")
    assert session.wait(10) == 255
    assert reaches(small, "node1", "node2") == REFUSED
    small.boot("node2")
    assert reaches(small, "node1", "node2") == ""


def test_a_silent_crash_is_seen_by_nobody(small):
    session = open_connection(small, "node1", "node2")
    small.crash("node2", silent=True)
    assert reaches(small, "node1", "node2") == SILENT
    assert session.poll() is None
    session.kill()
    session.wait()
    small.boot("node2")
    assert reaches(small, "node1", "node2") == ""


def test_a_booted_node_has_its_disk_and_nothing_else(small):
    small.run("node2", "sh", "-c", "touch /tmp/old /run/old /dev/shm/old; sleep 999 > /dev/null 2>&1 &")
    small.crash("node2")
    small.boot("node2", keep_disk=True)
    there = ssh(small, "node1", "node2", "ls /tmp/old /run/old /dev/shm/old; pgrep sleep")
    assert there.stdout == "/tmp/old\n"
    small("run", "node2", "rm", "/tmp/old")


def test_cut_and_heal(small):
    session = open_connection(small, "node1", "node2")
    small.cut("node2")
    for one, other in (("node1", "node2"), ("node2", "node1"), ("node2", "node1-net2")):
        assert reaches(small, one, other) == SILENT
    assert reaches(small, "node1", "node3") == ""
    small.heal("node2")
    assert reaches(small, "node1", "node2") == "" and session.poll() is None
    session.kill()
    session.wait()


def test_one_of_two_nets_can_be_cut(small):
    small.cut("node2", net=2)
    assert reaches(small, "node1", "node2-net2") == SILENT and reaches(small, "node1", "node2") == ""
    small.heal("node2")
    small.cut("node2", net=1)
    assert reaches(small, "node1", "node2-net2") == "" and reaches(small, "node1", "node2") == SILENT


def test_split_makes_two_sides(small):
    small.split(["node3", "node4"])
    assert reaches(small, "node3", "node4") == "" and reaches(small, "node1", "node2") == ""
    assert reaches(small, "node1", "node3") == SILENT and reaches(small, "node4", "node2") == SILENT
    small.heal("node3")
    assert reaches(small, "node1", "node3") == "" and reaches(small, "node3", "node4") == SILENT


# Sends one datagram; a second node prints what it gets.
SEND = "import socket, sys; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'hi', (sys.argv[1], 7777))"
RECEIVE = ("import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('', 7777)); s.settimeout(%s)\n"
           "print('waiting', flush=True)\ntry: print(s.recv(9).decode())\nexcept TimeoutError: print('nothing')")


def datagram(bed, sender, receiver):
    waiting = subprocess.Popen(bed.argv(receiver, "/usr/bin/python3", "-c", RECEIVE % PING_S), text=True,
                               stdout=subprocess.PIPE, env=bed.swarm.environment())
    assert waiting.stdout.readline() == "waiting\n"
    bed.run(sender, "/usr/bin/python3", "-c", SEND, receiver)
    return waiting.communicate(timeout=20)[0].strip()


def test_block_is_one_way(small):
    small("block", "node1", "node2")
    assert datagram(small, "node1", "node2") == "nothing"
    assert datagram(small, "node2", "node1") == "hi"
    assert datagram(small, "node1", "node3") == "hi"
    small.heal("node2")
    assert datagram(small, "node1", "node2") == "hi"


# How long a byte takes there and back, in ms, and until a megabyte has arrived, in s, over one connection.
ECHO = ("import socket\ns = socket.create_server(('', 7778)); print('waiting', flush=True); c = s.accept()[0]\n"
        "for _ in range(5): c.sendall(c.recv(1))\n"
        "n = 0\nwhile n < 1 << 20: n += len(c.recv(1 << 16))\n"
        "c.sendall(b'x')\n")
MEASURE = ("import socket, sys, time\nc = socket.create_connection((sys.argv[1], 7778), 5)\n"
           "c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)\n"
           "def took(data): b = time.monotonic(); c.sendall(data); c.recv(1); return time.monotonic() - b\n"
           "print(min(took(b'x') for _ in range(5)) * 1000, took(bytes(1 << 20)))\n")


def measured(bed, sender, receiver):
    answering = subprocess.Popen(bed.argv(receiver, "/usr/bin/python3", "-c", ECHO), text=True,
                                 stdout=subprocess.PIPE, env=bed.swarm.environment())
    assert answering.stdout.readline() == "waiting\n"
    done = bed.run(sender, "/usr/bin/python3", "-c", MEASURE, receiver)
    answering.wait(20)
    answering.stdout.close()
    return [float(word) for word in done.stdout.split()]


def test_slow_delays_and_limits(small):
    assert measured(small, "node1", "node2")[0] < 20
    small("slow", "node2", "--delay", "40ms")
    there_and_back_ms, _ = measured(small, "node1", "node2")
    assert 80 <= there_and_back_ms < 200
    small.heal("node2")
    small("slow", "node2", "--rate", "8mbit")
    _, seconds = measured(small, "node1", "node2")
    assert seconds > 0.8, "eight megabits take a second"
    small.heal("node2")
    there_and_back_ms, seconds = measured(small, "node1", "node2")
    assert there_and_back_ms < 20 and seconds < 0.8


def test_a_frozen_node_accepts_and_does_not_answer(small):
    small.freeze("node2")
    address = small.nodes()[1]["addresses"][0]
    probe = ("import socket, sys; c = socket.create_connection((sys.argv[1], 22), 3); c.settimeout(1)\n"
             "try: print(c.recv(9))\nexcept TimeoutError: print('nothing')")
    assert small.run("node1", "/usr/bin/python3", "-c", probe, address).stdout == "nothing\n"
    refused = command(small.folder, "run", "node2", "true")
    assert refused.returncode == 1 and "node2 is frozen" in refused.stderr
    small.thaw("node2")
    assert reaches(small, "node1", "node2") == ""


def test_a_node_that_lets_nobody_in_goes_on(small):
    started = subprocess.Popen(small.argv("node2", "sleep", "1000"), env=small.swarm.environment())
    wait_until(lambda: "sleep 1000" in small.processes(["node2"]).values(), what="it runs")
    small.refuse("node2")
    assert reaches(small, "node1", "node2") == REFUSED
    assert "sleep 1000" in small.processes(["node2"]).values()
    small.mend()
    assert reaches(small, "node1", "node2") == ""
    started.kill()
    started.wait()
    wait_until(lambda: "sleep 1000" not in small.processes(["node2"]).values(), what="it has ended")


def test_a_frozen_node_can_crash_and_boot(small):
    small.freeze("node2")
    small.crash("node2")
    small.boot("node2")
    assert reaches(small, "node1", "node2") == ""


# ---- errors ----

@pytest.mark.parametrize("words, said", [
    (["cut", "node9"], "no node 'node9'"), (["boot", "node1"], "node1 is up already"), (["up", "2"], "up already"),
    (["block", "node1", "node1"], "cannot be kept from itself"), (["slow", "node1"], "neither delay nor rate"),
    (["run", "node1"], "nothing to run")])
def test_what_cannot_be_done_is_said(small, words, said):
    done = command(small.folder, *words)
    assert done.returncode == 1 and said in done.stderr and "  try: " in done.stderr


def test_a_crashed_node_runs_nothing(small):
    small.crash("node3")
    done = command(small.folder, "run", "node3", "true")
    assert done.returncode == 1 and "node3 is down" in done.stderr and "swarm boot node3" in done.stderr


def test_without_a_swarm_every_command_says_so(folder):
    for words in (["list"], ["down"], ["cut", "node1"], ["run", "node1", "true"]):
        done = command(folder, *words)
        assert done.returncode == 1 and "no swarm is up" in done.stderr


def test_who_is_not_root_is_told(folder):
    done = command("/tmp/nobodys-swarm", "up", 1, wrap=["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"])
    assert done.returncode == 1 and "need root" in done.stderr


def test_a_directory_of_somebody_else_is_left_alone(folder):
    folder.mkdir()
    (folder / "letter").write_text("dear")
    done = command(folder, "up", 1)
    assert done.returncode == 1 and "holds other files" in done.stderr
    assert [path.name for path in folder.iterdir()] == ["letter"]


# ---- the end ----

def test_down_leaves_nothing(folder):
    before = set(os.listdir(folder.parent))
    command(folder, "up", 3, check=True)
    command(folder, "slow", "node1", "--delay", "5ms", check=True)
    command(folder, "freeze", "node2", check=True)
    pids = [*pids_of_nodes(folder), int((folder / "lock").read_text())]
    in_nodes = {os.readlink(f"/proc/{pid}/ns/pid") for pid in pids[:-1]}
    command(folder, "down", check=True)
    assert not any(map(is_alive, pids))
    assert not [words for space, words in process_table().values() if space in in_nodes]
    assert not left_of(folder) and set(os.listdir(folder.parent)) == before


@pytest.mark.parametrize("then", ["down", "up"])
def test_a_killed_fabric_takes_its_nodes_along_and_the_rest_is_cleared(folder, then):
    command(folder, "up", 3, check=True)
    command(folder, "freeze", "node2", check=True)
    pids = pids_of_nodes(folder)
    in_nodes = {os.readlink(f"/proc/{pid}/ns/pid") for pid in pids}
    os.kill(int((folder / "lock").read_text()), signal.SIGKILL)
    wait_until(lambda: not [1 for space, _ in process_table().values() if space in in_nodes], what="nodes are gone")
    if then == "up":
        command(folder, "up", 2, check=True)
        assert command(folder, "run", "node1", "ssh", "node2", "hostname").stdout == "node2\n"
    command(folder, "down", check=True)
    assert not left_of(folder) and not folder.exists()


def test_a_fabric_that_does_not_answer_is_ended(folder, monkeypatch):
    monkeypatch.setattr(client, "DOWN_LIMIT_S", 1)
    command(folder, "up", 2, check=True)
    pids = pids_of_nodes(folder)
    os.kill(int((folder / "lock").read_text()), signal.SIGSTOP)
    client.Swarm(folder).down()
    wait_until(lambda: not any(map(is_alive, pids)), what="nodes are gone")
    assert not folder.exists() and not left_of(folder)


def test_a_swarm_ends_with_its_owner(folder):
    owner = subprocess.Popen(["sleep", "999"])
    command(folder, "up", 2, "--with-pid", owner.pid, check=True)
    pids = pids_of_nodes(folder)
    owner.kill()
    owner.wait()
    wait_until(lambda: not any(map(is_alive, pids)), what="nodes are gone")
    wait_until(lambda: not left_of(folder), what="cgroups are gone")


def test_a_swarm_in_the_foreground_ends_with_its_command(folder):
    process = subprocess.Popen([str(COMMAND), "up", "2", "--foreground"], stdout=subprocess.PIPE, text=True,
                               env={**os.environ, "SWARM_DIR": str(folder)})
    assert process.stdout.readline() == "swarm of 2 is up\n"
    pids = pids_of_nodes(folder)
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0
    process.stdout.close()
    assert not any(map(is_alive, pids)) and not left_of(folder)


def test_two_swarms_at_once_know_nothing_of_each_other(folder):
    with tempfile.TemporaryDirectory(prefix="sw") as other:
        command(folder, "up", 2, check=True)
        command(other, "up", 3, check=True)
        try:
            assert len(pids_of_nodes(folder)) == 2 and len(pids_of_nodes(other)) == 3
            command(other, "cut", "node2", check=True)
            assert command(folder, "run", "node1", "ssh", "node2", "hostname").stdout == "node2\n"
            assert command(folder, "run", "node1", "ssh", "node3", "hostname").returncode == 255
        finally:
            command(other, "down", check=True)
        assert command(folder, "run", "node1", "ssh", "node2", "hostname").stdout == "node2\n"


def test_the_network_and_etc_of_this_machine_are_untouched(folder):
    def seen():
        return (sorted(name for _, name in socket.if_nameindex()), Path("/etc/hosts").read_text(),
                Path("/proc/self/mounts").read_text(), socket.gethostname())

    before = seen()
    command(folder, "up", 2, check=True)
    assert seen() == before
