"""What looks at the DVM can see what it is there to see."""

import os
import signal
import socket
import subprocess
import time
from types import SimpleNamespace

import pytest
from procs import Handle, Process, may_borrow_descriptors
from report import Report
from strikes import Miss, Striker
from verdict import NodeBlow
from watch import (MORE_DESCRIPTORS, MORE_RESIDENT_KIB, Prober, Sizes, busy, files_below, grown, processes_of, still_there,
                   unexpected, until_none)


def process(pid, parent=1, command="sleep 1000", zombie=False):
    return Process(pid, parent, zombie, command, frozenset())


def test_growth_is_found_and_noise_is_not():
    young = Sizes({"head": (40, 20000), "v1": (20, 9000)})
    assert grown(young, Sizes({"head": (40 + MORE_DESCRIPTORS, 20000 + MORE_RESIDENT_KIB), "v2": (900, 9000000)})) == []
    assert "descriptors" in grown(young, Sizes({"head": (41 + MORE_DESCRIPTORS, 20000)}))[0]
    assert "resident" in grown(young, Sizes({"v1": (20, 9001 + MORE_RESIDENT_KIB)}))[0]


def test_sizes_are_those_of_the_process():
    before = Sizes.take({"me": os.getpid(), "nobody": 1 << 30})
    assert list(before.of) == ["me"]
    files = [open("/dev/null") for _ in range(MORE_DESCRIPTORS + 1)]
    try:
        assert grown(before, Sizes.take({"me": os.getpid()}))
    finally:
        for each in files:
            each.close()


def test_what_a_quiet_dvm_holds():
    node = {"name": "v1", "slots_used": 0}
    assert busy({"jobs": [], "nodes": [node]}) == []
    assert busy({"jobs": [], "nodes": [{**node, "slots_used": 2}]})
    assert busy({"jobs": [{"number": 1, "state": "RUNNING", "command": "x"}], "nodes": []})


def test_orphans_and_zombies_are_told():
    ours = process(10, command="prted --node v1")
    known = {10}
    def expected(each):
        return each.pid in known
    assert unexpected([ours], expected) == []
    assert "sleep 1000" in unexpected([ours, process(11)], expected)[0]
    assert "zombie 12 of 10" in unexpected([ours, process(12, parent=10, zombie=True)], expected)[0]
    assert unexpected([ours, process(12, parent=1, zombie=True)], expected) == [], "somebody else's"


def test_struck_nodes_must_go():
    assert still_there([NodeBlow("v1", 1, 2), NodeBlow("v2", 1, None, fatal=False)]) == []
    assert still_there([NodeBlow("v1", 1, None)]) == ["v1"]


def test_files_are_found(tmp_path):
    (tmp_path / "prte.host.0").mkdir()
    assert files_below(tmp_path) == []
    (tmp_path / "prte.host.0" / "dvm").mkdir()
    assert files_below(tmp_path) == ["prte.host.0/dvm"]


def test_until_none_is_bounded():
    began = time.monotonic()
    assert until_none(lambda: ["still there"], 0.3) == ["still there"]
    assert time.monotonic() - began < 5
    answers = [["x"], ["x"], []]
    assert until_none(lambda: answers.pop(0), 5, poll_s=0.01) == []


def test_processes_are_found_by_either_mark(tmp_path):
    with subprocess.Popen(["sleep", "60", "0.4242"], env={}) as by_word, \
            subprocess.Popen(["sleep", "60"], env={"TMPDIR": str(tmp_path)}) as by_folder:
        try:
            found = {each.pid for each in processes_of(tmp_path, "0.4242")}
            assert found == {by_word.pid, by_folder.pid}
        finally:
            by_word.kill()
            by_folder.kill()


def test_a_dvm_that_does_not_answer_is_a_complaint(tmp_path):
    complaints = []
    place = SimpleNamespace(env={**os.environ, "TMPDIR": str(tmp_path)}, tmpdir=tmp_path)
    prober = Prober(place, "nobody", lambda what, detail: complaints.append(what))
    prober.start()
    try:
        assert until_none(lambda: not complaints, 20) is False
    finally:
        prober.stop()
        prober.join()


def test_a_connection_is_cut_from_outside():
    if reason := may_borrow_descriptors():
        pytest.skip(reason)
    mine, theirs = socket.socketpair()
    with mine, theirs, subprocess.Popen(["sleep", "60"], stdin=theirs) as child:
        theirs.close()
        mine.settimeout(20)
        try:
            with Handle(child.pid, "sleep") as handle:
                assert not handle.cut(socket.AF_INET, 0), "it has none of that kind"
                assert handle.cut(socket.AF_UNIX, 0)
            assert mine.recv(1) == b""
        finally:
            child.kill()


def test_a_handle_hits_only_whom_it_means():
    with subprocess.Popen(["sleep", "60"]) as child:
        with pytest.raises(ProcessLookupError):
            Handle(child.pid, "another program")
        with Handle(child.pid, "sleep 60") as handle:
            handle.send(signal.SIGKILL)
        assert child.wait(20) == -9
        with pytest.raises(ProcessLookupError):
            Handle(child.pid)


def test_a_complaint_tells_all_that_helps(tmp_path, capsys):
    report = Report(4711, tmp_path)
    strokes = []
    report.begin_round(3, strokes)
    strokes.append((time.monotonic(), "kill-daemon v7"))
    (report.logs() / "head.log").write_text("first\nlast words\n")
    report.complain("a job is stuck", ["one", "two"])
    said = capsys.readouterr().out
    for word in ("a job is stuck", "one; two", "seed 4711", "round 3", "kill-daemon v7", "last words", str(report.logs())):
        assert word in said
    report.end_round(0)
    assert (report.logs() / "complaints.txt").exists()
    report.begin_round(4, [])
    report.end_round(1)
    assert not report.logs().exists()


def test_who_is_frozen_is_not_frozen_again():
    striker = Striker(SimpleNamespace(), silence_s=1)
    with subprocess.Popen(["sleep", "1000"]) as sleeper:
        try:
            striker._freeze(Handle(sleeper.pid, "sleep"), 0.05)
            with pytest.raises(Miss):
                striker._freeze(Handle(sleeper.pid, "sleep"), 60)
            striker.settle()
            striker._freeze(Handle(sleeper.pid, "sleep"), 0)
            striker.settle()
        finally:
            sleeper.kill()
