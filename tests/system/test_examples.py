"""The programs of examples/, as a user builds and runs them, on real daemons."""

import json
import re
import shlex
import subprocess

import pytest

from dvm import BIN, ROOT, wait_until
from growing import kinds, nodes, running, settled, where
from jobs import Gate
from reserving import is_over, news, sessions

BREATHE, ENSEMBLE = (BIN.parent / "examples" / name for name in ("breathe", "ensemble"))
OB1 = ("-x", "OMPI_MCA_pml=ob1")  # the default looks for fabrics first, which takes its time
RUN_LIMIT_S = 55


def breathe(dvm, *bursts, program=BREATHE, ranks=2):
    """What it says of each burst, once it has ended well."""
    done = dvm.tool("prun", "-n", ranks, "--map-by", "node", *OB1, program, *bursts, limit_s=RUN_LIMIT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    said = {}
    for burst, words in re.findall(r"^burst (\d+): (.*)$", done.stdout, re.M):
        said.setdefault(int(burst), []).append(words)
    return said


def built_as_said(program, folder):
    """A program that is built by the line in the README."""
    readme = (ROOT / "examples" / "README.md").read_text()
    (line,) = re.findall(rf"^\$ (\S+ .* {program}\.cpp .*)$", readme, re.M)
    path = folder / program
    built = subprocess.run(["sh", "-c", line.replace(f"-o {program}", f"-o {shlex.quote(str(path))}")], cwd=ROOT / "examples",
                           capture_output=True, text=True, timeout=120)
    assert built.returncode == 0, built.stderr
    return path


def whole(grant, more, places):
    """What is said of a burst that goes well; `places` are of all who compute."""
    names, noun = ",".join(more), "node" if len(more) == 1 else "nodes"
    return [f"asks for {len(more)} more {noun}", f"granted as {grant}", f"can use {names}",
            f"{len(places)} processes on {' '.join(places)}: pi = 3.1415926536, right", f"gave back {names}"]


class Before:
    """A DVM that has to be the same in the end."""

    def __init__(self, dvm):
        self._dvm, self._daemons, self._processes = dvm, dvm.daemon_pids(), set(dvm.processes())

    def check(self):
        settled(self._dvm)
        assert self._dvm.daemon_pids() == self._daemons
        assert all(node["state"] == "up" and not node["slots_used"] for node in self._dvm.status()["nodes"])
        wait_until(lambda: set(self._dvm.processes()) <= self._processes, what="no process is left")
        assert not self._dvm.jobs()["jobs"]


# row:C1 row:C2 row:E17
@pytest.mark.limit(120)
def test_breathe_gets_nodes_for_each_burst_works_there_and_gives_them_back(elastic):
    dvm = elastic(nodes=2, pool=3, slots=2)
    before = Before(dvm)
    assert breathe(dvm, 2, 3, 1) == {
        1: whole("a1", ["v3", "v4"], ["v1", "v2", "v3", "v4"]),
        2: whole("a2", ["v3", "v4", "v5"], ["v1", "v2", "v3", "v4", "v5"]),
        3: whole("a3", ["v3"], ["v1", "v2", "v3"])}
    before.check()
    assert kinds(dvm, "grow", "shrink") == ["grow-begun", "grow-done", "shrink-begun", "shrink-done"] * 3


# kind: (failpoint, parameters, what it is told)
FAILURES = {
    "no-way-to-the-head": ("action.connect/v5:fail", {"tide_reattach_timeout": "500ms"}, "FAILED TO LAUNCH"),
    "not-in-time": ("action.connect/v5:hold", {"tide_grow_timeout": "3s"}, "TIMEOUT"),
}


# row:C3 row:E5
@pytest.mark.limit(120)
@pytest.mark.parametrize("kind", FAILURES)
def test_breathe_goes_on_with_what_it_has_when_a_grow_fails(elastic, kind):
    failpoint, parameters, cause = FAILURES[kind]
    dvm = elastic(nodes=2, pool=3, slots=2, failpoint=failpoint, **parameters)
    before = Before(dvm)
    said = breathe(dvm, 2, 3, 1)
    assert said[1] == whole("a1", ["v3", "v4"], ["v1", "v2", "v3", "v4"])
    asked, granted, failed, worked = said[2]
    assert (asked, granted) == ("asks for 3 more nodes", "granted as a2")
    assert failed.startswith("failed with ") and cause in failed and "the DVM has not grown" in failed, failed
    assert "v5" in failed, "it names the node"
    assert worked == "2 processes on v1 v2: pi = 3.1415926536, right"
    assert said[3] == whole("a3", ["v3"], ["v1", "v2", "v3"])
    before.check()
    assert kinds(dvm, "grow", "shrink").count("grow-failed") == 1
    assert where(dvm, 2) == ["v1", "v2"]


def test_breathe_goes_on_with_what_it_has_when_it_is_refused(make_dvm, elastic):
    fixed, small = make_dvm(nodes=1, slots=2), elastic(nodes=1, pool=1, slots=2)
    for dvm, why in ((fixed, "NOT-SUPPORTED"), (small, "OUT-OF-RESOURCE")):
        before = Before(dvm)
        said = breathe(dvm, 9)
        assert said[1][1].startswith("refused: ") and why in said[1][1], said
        assert said[1][2:] == ["2 processes on v1:2: pi = 3.1415926536, right"]
        before.check()
        assert nodes(dvm) == ["v1"]


def test_breathe_builds_as_its_readme_says(elastic, tmp_path):
    program = built_as_said("breathe", tmp_path)
    dvm = elastic(nodes=1, pool=1)
    assert breathe(dvm, 1, program=program, ranks=1) == {1: whole("a1", ["v2"], ["v1", "v2"])}


# ---- ensemble ----

def start_ensemble(dvm, *words, program=ENSEMBLE):
    """Attached to the head, with members that say where they are."""
    uri = json.loads((dvm.run_directory() / "dvm.json").read_text())["uri"]
    process = subprocess.Popen([program, uri, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dvm.env)
    dvm._background.append(process)
    return process


# row:R2 row:R6 row:R12 row:R16 row:R19
def test_ensemble_runs_on_nodes_of_its_own_extends_them_and_leaves_them_to_its_last_job(elastic):
    dvm = elastic(nodes=1, pool=2)
    before = Before(dvm)
    members, last = (Gate(dvm.tmpdir / name) for name in ("members", "last"))
    tool = start_ensemble(dvm, 2, 4, 3, f"echo $MEMBER on $TIDE_NODE; {members.wait_command()}", last.wait_command())
    wait_until(lambda: running(dvm) == 2, what="two members run")
    assert sessions(dvm) == {"v1": None, "v2": "a1", "v3": "a1"}
    assert where(dvm, 1) == ["v1"] and dvm.run("-n", "2", "true").returncode != 0, "others do not see its nodes"
    wait_until(lambda: "lease-extended" in kinds(dvm), what="it has more time")

    def let_go():
        members.try_open()
        return tool.poll() is not None

    wait_until(let_go, what="all members have ended, and the tool")
    said = dvm.finish(tool)
    assert said.returncode == 0, said.stderr
    lines = said.stdout.splitlines()
    assert lines[0] == "reserved v2,v3 as a1" and "got 4 s more" in lines, lines
    assert {"1 on v2", "2 on v3"} < set(lines) and {"3 on v2", "3 on v3"} & set(lines), lines
    assert lines[-2] == "all 3 members have ended" and lines[-1].startswith("a1 is left to "), lines
    assert sessions(dvm) == {"v1": None, "v2": "a1", "v3": "a1"} and running(dvm) == 1
    wait_until(last.try_open, what="the last job waits")
    wait_until(lambda: is_over(dvm, "a1"), what="its nodes went back")
    before.check()
    assert nodes(dvm) == ["v1"] and news(dvm, "a1").count("ended") == 1


def test_ensemble_says_why_there_are_no_nodes(elastic, make_dvm):
    for dvm, why in ((elastic(nodes=1, pool=1), "OUT-OF-RESOURCE"), (make_dvm(nodes=1), "NOT-SUPPORTED")):
        before = Before(dvm)
        said = dvm.finish(start_ensemble(dvm, 2, 60, 1, "true", "true"))
        assert (said.returncode, said.stdout) == (1, "") and f"no nodes: {why}" in said.stderr.replace("PMIX_ERR_", ""), said.stderr
        before.check()


def test_ensemble_tells_of_members_that_fail_and_builds_as_its_readme_says(elastic, tmp_path):
    program = built_as_said("ensemble", tmp_path)
    dvm = elastic(nodes=1, pool=1)
    said = dvm.finish(start_ensemble(dvm, 1, 60, 2, 'exit $((MEMBER - 1))', "true", program=program))
    assert said.returncode == 1 and said.stdout.count("a member failed") == 1, said.stdout + said.stderr
    wait_until(lambda: is_over(dvm, "a1"), what="its nodes went back")
