"""Hosts of a DVM and of a job: files, lists, ranges, relative names. What needs other machines is tested on the testbed."""

import pytest
from dvm import Dvm, wait_until
from jobs import Gate

WHERE = ("sh", "-c", "echo $TIDE_NODE")


@pytest.fixture
def place():
    """A private place in which no DVM runs, before and after."""
    dvm = Dvm(nodes=2)
    try:
        yield dvm
        assert not dvm.processes() and not dvm.files_left()
    finally:
        dvm.close()


def hostfile(dvm, text, name="nodes.txt"):
    (dvm.tmpdir / name).write_text(text)
    return name


def nodes_of(done):
    assert done.returncode == 0, done.stderr
    return sorted(done.stdout.split())


# ---- jobs choose among the nodes of the DVM ----

@pytest.mark.user
def test_a_hostfile_chooses_nodes_and_slots(shared_dvm):
    file = hostfile(shared_dvm, "# mine\r\nv1 slots=2  # two of four\r\n\r\nv[3-4]:1\n^v4\n")
    assert nodes_of(shared_dvm.run("--hostfile", file, *WHERE)) == ["v1", "v1", "v3"]
    assert nodes_of(shared_dvm.tool("prun", "--machinefile", file, *WHERE)) == ["v1", "v1", "v3"]


@pytest.mark.user
def test_a_list_chooses_among_the_hosts_of_a_file(shared_dvm):
    file = hostfile(shared_dvm, "v1 slots=2\nv2\n")
    assert nodes_of(shared_dvm.run("--hostfile", file, "--host", "v1", *WHERE)) == ["v1", "v1"]
    done = shared_dvm.run("--hostfile", file, "--host", "v3", *WHERE)
    assert done.returncode == 125 and "'v3' stands for v3, which the hostfile leaves out" in done.stderr


def test_a_node_that_is_named_again_counts_again(shared_dvm):
    assert nodes_of(shared_dvm.run("--host", "v1,v1,v1,v2:1", *WHERE)) == ["v1", "v1", "v1", "v2"]


@pytest.mark.user
def test_places_in_the_dvm(shared_dvm):
    assert nodes_of(shared_dvm.run("--host", "+n0:1,+n3:2", *WHERE)) == ["v1", "v4", "v4"]
    assert nodes_of(shared_dvm.run("--host", "^+n0,^v[2-3]", *WHERE)) == ["v4"] * 4
    done = shared_dvm.run("--host", "v1,+n4", *WHERE)
    assert done.returncode == 125
    assert "--host, column 4: there is no '+n4' in this DVM, which has 4 nodes" in done.stderr


def test_empty_nodes_are_those_without_a_process(shared_dvm):
    gate = Gate(shared_dvm.tmpdir / "gate-empty")
    job = shared_dvm.start("tide", "run", "-n", "2", "--host", "v1:1,v3:1", "sh", "-c", gate.wait_command())
    wait_until(lambda: [row for row in shared_dvm.jobs()["jobs"] if row["running"] == 2], what="the job runs")
    assert nodes_of(shared_dvm.run("--host", "+e", "-n", "2", "--map-by", "node", *WHERE)) == ["v2", "v4"]
    assert nodes_of(shared_dvm.run("--host", "+e:1", *WHERE)) == ["v2"] * 4
    both = shared_dvm.run("-n", "1", "--host", "+e:1", *WHERE, ":", "-n", "1", "--host", "+e:1", *WHERE)
    assert nodes_of(both) == ["v2", "v4"]
    done = shared_dvm.run("--host", "+e:3", *WHERE)
    assert done.returncode == 125 and "'+e:3' asks for more empty nodes than this DVM has: 2" in done.stderr
    wait_until(lambda: (gate.try_open() or True) and job.poll() is not None, what="the job ends")
    assert job.returncode == 0


@pytest.mark.user
def test_a_host_that_the_dvm_does_not_have_does_no_harm(shared_dvm):
    file = hostfile(shared_dvm, "v1\n  elsewhere slots=2\n")
    done = shared_dvm.run("--hostfile", file, *WHERE)
    assert done.returncode == 125 and done.stdout == ""
    assert "nodes.txt:2:3: 'elsewhere' is not in this DVM, which has v1, v2, v3, v4" in done.stderr
    assert nodes_of(shared_dvm.run("--host", "v1:1", *WHERE)) == ["v1"]


def test_a_maximum_holds_when_slots_may_be_exceeded(shared_dvm):
    file = hostfile(shared_dvm, "v1 slots=1 max-slots=2\nv2 slots=1\n")
    argv = ("--hostfile", file, "--map-by", "node:OVERSUBSCRIBE", *WHERE)
    assert nodes_of(shared_dvm.run("-n", "6", *argv)) == ["v1"] * 2 + ["v2"] * 4


@pytest.mark.user
def test_a_node_has_its_long_name_too(shared_dvm):
    assert nodes_of(shared_dvm.run("--host", "v2.cluster.example:1", *WHERE)) == ["v2"]


# ---- a DVM to start ----

# row:L7
@pytest.mark.user
def test_slots_where_none_are_given(make_dvm):
    dvm = make_dvm(nodes=2, up_options=("--set-slots", "3"))
    assert [node["slots"] for node in dvm.status()["nodes"]] == [3, 3]


@pytest.mark.user
def test_no_more_nodes_than_allowed(make_dvm):
    dvm = make_dvm(nodes=4, slots=1, up_options=("--max-vm-size", "2"))
    assert [node["name"] for node in dvm.status()["nodes"]] == ["v1", "v2"]


@pytest.mark.user
def test_with_nodes_a_private_dvm_chooses_among_them(place):
    done = place.tool("prterun", "--nodes", "3", "--slots", "1", "--host", "+n2,v1", *WHERE)
    assert nodes_of(done) == ["v1", "v3"]


WRONG = {
    "v1\nv2 slot=4\n": "nodes.txt:2:4: 'slot' is no setting of a host; did you mean slots?",
    "v1\n\n v2 v3\n": "nodes.txt:3:5: 'v3' is one word too many",
    "a@b@c\n": "nodes.txt:1:1: 'a@b@c' has more than one '@'",
    "node[01-16\n": "nodes.txt:1:5: '[01-16' has a '[' without its ']'",
    "-oProxyCommand=x\n": "nodes.txt:1:1: '-oProxyCommand=x' begins with '-'",
    "a\n+n0\n": "nodes.txt:2:1: '+n0' is a place in a list of hosts, and there is no list",
    "a\n^a\n": "no host is left: nodes.txt excludes all there are",
    "# nobody\n": "the hostfile 'nodes.txt' names no host",
}


@pytest.mark.user
@pytest.mark.parametrize("text", WRONG)
@pytest.mark.parametrize("command", ["prte", "tide up", "prterun"])
def test_a_wrong_hostfile_is_refused_before_anything_starts(place, command, text):
    program, *words = command.split()
    after = ("true",) if program == "prterun" else ()
    done = place.tool(program, *words, "--hostfile", hostfile(place, text), *after)
    assert done.returncode != 0 and WRONG[text] in done.stderr and "\n  try: " in done.stderr


@pytest.mark.user
def test_a_hostfile_may_be_a_pipe(shared_dvm):
    done = shared_dvm.shell("printf 'v2:2\\n' | prun --hostfile /dev/stdin sh -c 'echo $TIDE_NODE'")
    assert nodes_of(done) == ["v2", "v2"]


@pytest.mark.user
@pytest.mark.parametrize("argv, part", [
    (("--host", "a,,b"), "--host, column 3: '' names no host"),
    (("--host", "a", "--nodes", "2"), "--nodes makes nodes of this machine, and --host names machines"),
    (("--hostfile", "absent"), "the hostfile 'absent' can't be read: No such file or directory"),
    (("--hostfile", "."), "the hostfile '.' can't be read: Is a directory"),
    (("--max-vm-size", "none"), "'none'"),
    (("--set-slots", "core"), "'core'"),
])
@pytest.mark.parametrize("command", ["prte", "tide up"])
def test_wrong_hosts_are_refused(place, command, argv, part):
    program, *words = command.split()
    done = place.tool(program, *words, *argv)
    assert done.returncode == 2 and part in done.stderr, done.stderr
