"""Who may not come in does not, who misbehaves harms nobody else, and the log says so once."""

import base64
import os
import re
import resource
import select
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

import knocking
from dvm import TIME_SCALE, Dvm, wait_until
from latency import Memory, assert_unhurt, run_once, typical
from shims import KNOWN_CHANCE, KNOWN_KEY, KNOWN_TICKET, build_shim

CROWD = 10_000
REQUESTS = 400_000
FORMS_OF_KEY = [KNOWN_KEY, KNOWN_KEY.hex().encode(), KNOWN_KEY.hex().upper().encode(),
                base64.b64encode(KNOWN_KEY)[:-4], KNOWN_KEY[:16], KNOWN_KEY[16:]]


@pytest.fixture(scope="module")
def known_dvm(tmp_path_factory):
    """A DVM whose key the test knows, everything logged."""
    shim = build_shim(tmp_path_factory.mktemp("shim"), "known_chance", KNOWN_CHANCE)
    verbose = {f"{name}_base_verbose": 5
               for name in ("state", "plm", "rmaps", "ras", "errmgr", "routed", "odls", "iof")}
    dvm = Dvm(nodes=3, slots=4, prtemca=verbose, env={"LD_PRELOAD": str(shim)})
    try:
        yield dvm.up()
    finally:
        dvm.close()


def lines_about(dvm, words, node="head"):
    return [line for line in dvm.log_text(node).splitlines() if words in line]


def wait_for_line(dvm, words, node="head"):
    wait_until(lambda: lines_about(dvm, words, node), what=f"'{words}' in the log of {node}")


# ---- strangers at the link port ----

def plain(dvm, said):
    with knocking.tcp(knocking.link_port(dvm), said) as caller:
        return knocking.read_to_end(caller)


@pytest.mark.noasan("a library is preloaded")
def test_without_the_key_nobody_comes_in(known_dvm):
    port, dvm_id = knocking.link_port(known_dvm), known_dvm.status()["dvm"]["id"]
    hello = knocking.link_hello(dvm_id, 1, KNOWN_TICKET)
    assert dvm_id.encode() not in plain(known_dvm, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    wait_for_line(known_dvm, "http request")
    assert dvm_id.encode() not in plain(known_dvm, os.urandom(65536))
    assert dvm_id.encode() not in plain(known_dvm, hello)
    assert not knocking.with_key(port, dvm_id, b"another key, of the same length.", hello)
    wait_for_line(known_dvm, "binder")
    assert not knocking.with_key(port, "tide-of-somebody-else", KNOWN_KEY, hello)
    for options in (["-tls1_2"], ["-tls1_3"], ["-tls1_2", "-cipher", "PSK:@SECLEVEL=0", "-psk", KNOWN_KEY.hex()]):
        done = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{port}", *options], input=b"",
                              capture_output=True, timeout=30)
        assert b"Cipher is (NONE)" in done.stdout and b"rror" in done.stderr
    wait_for_line(known_dvm, "unsupported protocol")
    assert known_dvm.run("-n", "3", "--map-by", "node", "true").returncode == 0


@pytest.mark.noasan("a library is preloaded")
def test_with_the_key_the_hello_must_be_right(known_dvm):
    """Another protocol, another DVM, a ticket that was used, one that never was, and no hello at all."""
    port, dvm_id = knocking.link_port(known_dvm), known_dvm.status()["dvm"]["id"]

    def answer(said):
        return knocking.with_key(port, dvm_id, KNOWN_KEY, said)

    assert b"no common protocol version" in answer(knocking.link_hello(dvm_id, 1, KNOWN_TICKET, protocol=9, oldest=9))
    assert b"no common protocol version" in answer(knocking.link_hello(dvm_id, 1, KNOWN_TICKET, protocol=0, oldest=0))
    assert b"does not know DVM tide-b" in answer(knocking.link_hello("tide-b", 1, KNOWN_TICKET))
    assert b"was given up" in answer(knocking.link_hello(dvm_id, 1, KNOWN_TICKET + 1))
    assert b"ticket is not valid" in answer(knocking.link_hello(dvm_id, 77, KNOWN_TICKET))
    assert b"and so are we" in answer(knocking.link_hello(dvm_id, 0, KNOWN_TICKET))
    assert b"must be a hello" in answer(knocking.frame(knocking.text(9, knocking.number(1, 1))))
    answer(b"\xff" * 64)
    answer(b"\x08\x00\x00\x00\x00\x01" + b"\xff" * 8)
    for words in ("no common protocol", "above the maximum of"):
        wait_for_line(known_dvm, words)
    # A used ticket is good for the link of a daemon that moved, as this one claims; put to no use
    # it ends, and the daemon it belongs to is not disturbed.
    before = known_dvm.daemon_pids()
    up = knocking.frame(knocking.text(9, knocking.number(1, 2) + knocking.number(2, 1)))
    answer(knocking.link_hello(dvm_id, 1, KNOWN_TICKET) + up + b"\xff" * 64)
    assert known_dvm.daemon_pids() == before
    assert known_dvm.run("-n", "3", "--map-by", "node", "true").returncode == 0


@pytest.mark.noasan("a library is preloaded")
def test_a_child_that_speaks_for_another_is_not_believed(known_dvm):
    """It takes the place of rank 1 and claims that rank 2 sent what it did not; rank 1 takes its place back."""
    port, dvm_id = knocking.link_port(known_dvm), known_dvm.status()["dvm"]["id"]
    serial = known_dvm.status()["dvm"]["serial"]
    job = known_dvm.start("tide", "run", "-n", "1", "--host", "v2", "sleep", "1021")
    row = wait_until(lambda: [row for row in known_dvm.jobs()["jobs"] if row["running"] == 1], what="it runs")[0]
    attach = knocking.frame(knocking.text(5, knocking.number(1, serial) + knocking.number(2, serial)))
    complete = knocking.text(6, knocking.text(4, knocking.number(1, row["number"])))
    lies = b"".join(knocking.frame(knocking.text(9, knocking.number(1, 2) + knocking.number(2, seq) + complete))
                    for seq in range(1, 50))
    knocking.with_key(port, dvm_id, KNOWN_KEY, knocking.link_hello(dvm_id, 1, KNOWN_TICKET) + attach + lies)
    wait_for_line(known_dvm, "speaks for rank 2, which is not below it")
    assert len(lines_about(known_dvm, "speaks for rank 2")) == 1
    assert job.poll() is None
    assert known_dvm.tool("tide", "kill", row["number"]).returncode == 0
    assert known_dvm.finish(job).returncode == 143
    wait_until(lambda: known_dvm.run("-n", "3", "--map-by", "node", "true").returncode == 0, what="all is well")
    assert {node["state"] for node in known_dvm.status()["nodes"]} == {"up"}


# ---- floods ----

def require_descriptors(count):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard < count + 100:
        pytest.skip(f"needs {count} descriptors in one process, and the hard limit is {hard}")


@pytest.mark.noasan("latency")
@pytest.mark.parametrize("door", ["link", "local"])
def test_ten_thousand_that_never_speak(dvm, door):
    require_descriptors(CROWD)
    peace_s = typical(dvm)
    memory = Memory(dvm)
    where = knocking.link_port(dvm) if door == "link" else knocking.local_socket(dvm)
    crowd = knocking.silent_crowd(door, where, CROWD)
    during = []
    while len(during) < 9:
        during.append(run_once(dvm))
    assert crowd.stdout.readline() == "all\n"
    assert_unhurt(peace_s, sorted(during)[4], "while they come")
    assert_unhurt(peace_s, typical(dvm), "while they are there")
    assert len(os.listdir(f"/proc/{dvm.head_pid()}/fd")) < 1500
    memory.assert_grown_at_most(64 << 10)
    wait_for_line(dvm, "others wait to be heard")
    refused = f"{'link' if door == 'link' else 'client'}.refused"
    wait_until(lambda: dvm.status()["counters"][refused] >= CROWD - 1100, what="all but a thousand were sent away")
    knocking.disperse(crowd)
    assert len(lines_about(dvm, "refused")) < 60, "a flood of refusals is no flood of lines"


@pytest.mark.noasan("latency")
def test_who_asks_and_does_not_read_waits_alone(dvm):
    """A client that asks without end and reads a byte now and then, and one that began a request."""
    peace_s = typical(dvm)
    memory = Memory(dvm)
    path = knocking.local_socket(dvm)
    with knocking.local(path, knocking.client_hello()) as greedy, \
            knocking.local(path, knocking.client_hello() + b"\x00\x00") as half:
        greedy.setblocking(False)
        asked = memoryview(knocking.status_request(REQUESTS))
        while asked and select.select([], [greedy], [], 2 * TIME_SCALE)[1]:
            asked = asked[greedy.send(asked):]
        assert asked, "the head never stopped listening"
        greedy.setblocking(True)
        assert len(greedy.recv(1)) == 1
        assert_unhurt(peace_s, typical(dvm), "a client that does not read")
        assert len(greedy.recv(1)) == 1
        half.sendall(b"\x00")
    memory.assert_grown_at_most(48 << 10)
    assert dvm.run("-n", "1", "true").returncode == 0


def test_one_line_each_and_no_flood_of_lines(dvm):
    """Three kinds of strangers, hundreds of each."""
    port = knocking.link_port(dvm)
    for _ in range(200):
        for said in (b"GET / HTTP/1.1\r\n\r\n", b"\x00" * 64):
            with knocking.tcp(port, said) as caller:
                knocking.read_to_end(caller)
        with knocking.local(knocking.local_socket(dvm), b"\xff" * 64) as caller:
            knocking.read_to_end(caller)
    for words in ("http request", "wrong version number", "it sent a frame of"):
        wait_for_line(dvm, words)
        assert len(lines_about(dvm, words)) < 20, words
    assert dvm.status()["counters"]["link.refused"] == 400

    def told_how_many():
        with knocking.tcp(port, b"GET / HTTP/1.1\r\n\r\n") as caller:
            knocking.read_to_end(caller)
        return any(re.search(r"and \d+ more like this before", line) for line in lines_about(dvm, "http request"))

    wait_until(told_how_many, what="the number of those left out")


def listening(pid):
    inodes = {os.readlink(f"/proc/{pid}/fd/{number}") for number in descriptors(pid)}
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()]
    return {int(line[1].split(":")[1], 16) for line in lines if line[3] == "0A" and f"socket:[{line[9]}]" in inodes}


@pytest.mark.noasan("a library is preloaded")
def test_text_that_is_none_takes_one_line_and_only_ours(known_dvm):
    """A hello whose DVM is no UTF-8, to a daemon, whose standard error is its log."""
    dvm_id = known_dvm.status()["dvm"]["id"]
    (port,) = listening(known_dvm.daemon_pids()["v1"]) - {knocking.pmix_port(known_dvm, "v1")}
    for _ in range(5):
        knocking.with_key(port, dvm_id, KNOWN_KEY, knocking.link_hello(b"\xff\xfe", 2, KNOWN_TICKET))
    wait_for_line(known_dvm, "can't be read", "v1")
    assert "libprotobuf" not in known_dvm.log_text("v1")


# ---- descriptors ----

def descriptors(pid):
    return {int(name) for name in os.listdir(f"/proc/{pid}/fd")}


class Exhausted:
    """A head that has as many descriptors as it may have: idle clients hold what was free."""

    def __init__(self, dvm):
        self._pid, path, self._clients = dvm.head_pid(), knocking.local_socket(dvm), []
        self._before = resource.prlimit(self._pid, resource.RLIMIT_NOFILE)
        limit = max(descriptors(self._pid)) + 3
        resource.prlimit(self._pid, resource.RLIMIT_NOFILE, (limit, self._before[1]))
        while len(descriptors(self._pid)) < limit:
            self._clients.append(knocking.local(path, knocking.client_hello()))
            assert self._clients[-1].recv(1000)

    def end_clients(self):
        for client in self._clients:
            client.close()

    def end(self):
        self.end_clients()
        resource.prlimit(self._pid, resource.RLIMIT_NOFILE, self._before)


@pytest.mark.noasan("the sanitizers need a descriptor of their own to look at memory")
def test_a_head_without_descriptors_can_be_looked_at_and_taken_down(make_dvm):
    dvm = make_dvm(nodes=2, slots=2)
    exhausted = Exhausted(dvm)
    refused = dvm.run("-n", "1", "true")
    assert refused.returncode != 0 and "no room for another client" in refused.stderr
    assert len(dvm.status()["nodes"]) == 2
    wait_for_line(dvm, "Too many open files")
    exhausted.end()
    wait_until(lambda: dvm.run("-n", "2", "true").returncode == 0, what="jobs run again")
    exhausted = Exhausted(dvm)
    dvm.down()
    exhausted.end_clients()


@pytest.mark.noasan("the sanitizers need a descriptor of their own to look at memory")
def test_a_daemon_without_descriptors_says_so_and_recovers(make_dvm):
    dvm = make_dvm(nodes=2, slots=2)
    pid = dvm.daemon_pids()["v1"]
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, before[1]))
    done = dvm.run("-n", "1", "--host", "v1", "true")
    assert done.returncode != 0 and "node v1" in done.stderr, done.stderr
    assert dvm.run("-n", "1", "--host", "v2", "true").returncode == 0
    resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
    assert dvm.run("-n", "1", "--host", "v1", "true").returncode == 0


# ---- the local socket ----

ASK_AS_SOMEBODY = """
import socket, sys
caller = socket.socket(socket.AF_UNIX)
caller.settimeout(10)
try:
    caller.connect(sys.argv[1])
except PermissionError:
    sys.exit("no way in")
caller.sendall(bytes.fromhex(sys.argv[2]))
sys.stdout.buffer.write(caller.recv(65536))
"""


def ask_as_nobody(path):
    return subprocess.run(["/usr/bin/python3", "-c", ASK_AS_SOMEBODY, path, knocking.client_hello().hex()],
                          capture_output=True, timeout=30, user=65534, group=65534, extra_groups=[], cwd="/")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")
def test_other_users_are_refused(dvm):
    path = Path(knocking.local_socket(dvm))
    assert path.stat().st_mode & 0o777 == 0o600
    for directory in (path.parent, path.parent.parent):
        assert directory.stat().st_mode & 0o777 == 0o700
    assert b"no way in" in ask_as_nobody(str(path)).stderr
    # Every folder on the way: the tests' own place may be closed to others, too.
    ours = [place for place in path.parents if place.is_relative_to(tempfile.gettempdir())]
    modes = {place: place.stat().st_mode & 0o7777 for place in (path, *ours) if place.stat().st_uid == os.geteuid()}
    try:
        for place in modes:
            place.chmod(0o777 | (modes[place] & 0o1000))
        done = ask_as_nobody(str(path))
        assert b"user 65534 may not use it" in done.stdout, done
        wait_for_line(dvm, "user 65534 may not use it")
    finally:
        for place, mode in modes.items():
            place.chmod(mode)


# ---- the key ----

def holds_key(data):
    return [form for form in FORMS_OF_KEY if form in data]


def assert_nowhere(places):
    for name, data in places:
        assert not holds_key(data), f"the key is in {name}"


def texts_of_processes(dvm):
    for pid in dvm.processes():
        for name in ("cmdline", "environ"):
            try:
                yield f"{name} of {pid}", Path(f"/proc/{pid}/{name}").read_bytes()
            except OSError:
                continue


def texts_of_files(dvm):
    for path in dvm.tmpdir.rglob("*"):
        if path.is_file():
            yield str(path), path.read_bytes()


def has_only_its_streams(pid):
    """A program that has just begun has files of its own open for a moment: its language, say."""
    links = {os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")}
    return all(link.startswith("pipe:") or link == "/dev/null" for link in links)


@pytest.mark.noasan("a library is preloaded")
def test_the_key_is_nowhere_to_be_read(known_dvm):
    """It is in memory, which shows that the search would find it; and the daemons have it, or they would not be up."""
    dvm = known_dvm
    show = "env; ls -l /proc/self/fd; cat /proc/$PPID/cmdline; exec sleep 1031"
    job = dvm.start("tide", "run", "-n", "3", "--map-by", "node", "sh", "-c", show, text=False)
    wait_until(lambda: [row for row in dvm.jobs()["jobs"] if row["running"] == 3], what="it runs")
    assert_nowhere(texts_of_processes(dvm))
    for pid, words in dvm.processes().items():
        if words == "sleep 1031":
            wait_until(lambda pid=pid: has_only_its_streams(pid), what=f"{pid} has nothing open that it was not given")
    recorder = dvm.tool("tide", "debug", "recorder", text=False)
    assert recorder.returncode == 0 and len(recorder.stdout) > 1000
    assert_nowhere([("the flight recorder", recorder.stdout)])
    dvm.tool("tide", "kill", dvm.jobs()["jobs"][0]["number"])
    done = dvm.finish(job)
    assert b"TIDE_RANK" in done.stdout
    assert_nowhere([("what the job saw", done.stdout + done.stderr)])
    assert len(dvm.log_text()) > 1000 and len(dvm.log_text("v1")) > 100
    assert_nowhere(texts_of_files(dvm))
    for path in dvm.tmpdir.rglob("*"):
        if path.is_file() and path.suffix in (".log", ".json"):
            assert path.stat().st_mode & 0o077 == 0, path


def memory_of(pid):
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        if "[heap]" in line:
            begin, end = (int(word, 16) for word in line.split()[0].split("-"))
            with open(f"/proc/{pid}/mem", "rb") as memory:
                memory.seek(begin)
                return memory.read(end - begin)
    return b""


@pytest.mark.noasan("a library is preloaded")
@pytest.mark.skipif(os.geteuid() != 0, reason="reads the memory of processes")
def test_crashes_do_not_tell_the_key(tmp_path):
    """Of a daemon and of the head: neither the dump of the recorder nor a core file has it."""
    shim = build_shim(tmp_path, "known_chance", KNOWN_CHANCE)
    dvm = Dvm(nodes=2, slots=1, env={"LD_PRELOAD": str(shim)})
    try:
        dvm.up()
        head, daemon = dvm.head_pid(), dvm.daemon_pids()["v1"]
        logs = dvm.run_directory() / "logs"
        assert holds_key(memory_of(head)), "the shim does not work"
        cores = set()
        for pid in (head, daemon):
            resource.prlimit(pid, resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            cores.add(Path(os.readlink(f"/proc/{pid}/cwd")))
        before = {path for folder in cores for path in folder.glob("core*")}
        os.kill(daemon, signal.SIGSEGV)
        wait_until(lambda: (logs / "v1.crash").exists() and len(dvm.status()["nodes"]) == 1, what="v1 is gone")
        kept = (logs / "v1.crash").read_bytes()
        dvm.abandon()
        os.kill(head, signal.SIGABRT)
        wait_until(lambda: not dvm.processes(), limit_s=20, what="all is gone")
        assert len(kept) > 100 and len((logs / "head.crash").read_bytes()) > 500
        assert_nowhere([("v1.crash", kept), *texts_of_files(dvm)])
        left = {path for folder in cores for path in folder.glob("core*")} - before
        for path in left:
            path.unlink()
        assert not left, "a core file was written"
    finally:
        dvm.close()
