"""The programs of examples/, as a user builds and runs them, on real daemons."""

import re
import shlex
import subprocess

import pytest

from dvm import BIN, ROOT, wait_until
from growing import kinds, nodes, settled, where

BREATHE = BIN.parent / "examples" / "breathe"
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
    readme = (ROOT / "examples" / "README.md").read_text()
    (line,) = re.findall(r"^\$ (mpicxx .* breathe\.cpp .*)$", readme, re.M)
    program = tmp_path / "breathe"
    built = subprocess.run(["sh", "-c", line.replace("-o breathe", f"-o {shlex.quote(str(program))}")],
                           cwd=ROOT / "examples", capture_output=True, text=True, timeout=120)
    assert built.returncode == 0, built.stderr
    dvm = elastic(nodes=1, pool=1)
    assert breathe(dvm, 1, program=program, ranks=1) == {1: whole("a1", ["v2"], ["v1", "v2"])}
