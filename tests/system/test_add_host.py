"""Jobs that ask for nodes: --add-host, --add-hostfile, --activate, and PMIx_Spawn with the same, in elastic DVMs and in others."""

import signal

import pytest

from dvm import BIN, wait_until
from growing import nodes, settled
from jobs import Gate, last_job, state_of, steps_of
from machines import DvmOverMachines, Machines

PROGRAMS = BIN.parent / "tests" / "programs"
HOLD = "action.launch_daemons@2:hold"
FAIL = "action.launch_daemons@2:fail"
WAITING = "PRTE_JOB_STATE_WAITING_FOR_DAEMONS"
MAP_FAILED, JOB_FAILED = 125, 122


@pytest.fixture(params=[True, False], ids=["elastic", "fixed"])
def is_elastic(request):
    return request.param


@pytest.fixture
def pooled(make_dvm, is_elastic):
    """A function (nodes, pool, …) → running DVM with one slot on each node, elastic or not."""

    def make(nodes=1, pool=3, failpoint=None, **prtemca):
        if failpoint:
            prtemca["tide_failpoint"] = failpoint
        if is_elastic:
            first, options = nodes, ["--elastic", *(["--pool", str(pool)] if pool else [])]
        else:
            first, options = nodes + pool, ["--max-vm-size", str(nodes)]
        return make_dvm(nodes=first, slots=1, up_options=options, prtemca={"state_base_verbose": 1, **prtemca})

    return make


def ran_on(ran):
    """The nodes that the processes of a job, which went well, ran on."""
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return sorted(ran.stdout.split())


WHERE = ["--map-by", "node", "sh", "-c", "echo $TIDE_NODE"]
SPAWNER = ["-n", "1", "--map-by", ":OVERSUBSCRIBE", str(PROGRAMS / "pmix_spawn")]


def under_way(dvm, changes=1):
    wait_until(lambda: len(dvm.status()["campaigns"]) == changes, what="the DVM is being extended")


def release(dvm):
    assert dvm.tool("tide", "debug", "release", "action.launch_daemons").returncode == 0


# ---- the job that asks ----

# row:E1 row:E17 row:L3 row:R21
@pytest.mark.user
def test_a_job_brings_nodes_along(pooled, is_elastic):
    dvm = pooled()
    assert ran_on(dvm.tool("prun", "--add-host", "v2,v4", *WHERE)) == ["v1", "v2", "v4"]
    assert nodes(dvm) == ["v1", "v2", "v4"]
    steps = [step for step in steps_of(dvm, 1) if step != "WAITING_FOR_DAEMONS"]
    assert steps[:10] == ["INIT", "INIT_COMPLETE", "ALLOCATE", "ALLOCATION_COMPLETE", "LAUNCH_DAEMONS", "DAEMONS_LAUNCHED",
                         "DAEMONS_REPORTED", "VM_READY", "MAP", "MAP_COMPLETE"]
    assert ("WAITING_FOR_DAEMONS" in steps_of(dvm, 1)) == is_elastic
    # They are everybody's, and stay.
    assert ran_on(dvm.run(*WHERE)) == ["v1", "v2", "v4"]
    settled(dvm)


# row:L5
def test_nodes_that_are_there_need_no_daemon(pooled):
    dvm = pooled(nodes=2)
    assert ran_on(dvm.run("--add-host", "v2", *WHERE)) == ["v1", "v2"]
    assert "DAEMONS_LAUNCHED" not in steps_of(dvm, 1)
    assert dvm.status()["counters"]["elastic.grows"] == 0


def test_host_chooses_among_all_nodes(pooled):
    dvm = pooled()
    assert ran_on(dvm.run("--add-host", "v2,v3", "--host", "v3", *WHERE)) == ["v3"]
    assert ran_on(dvm.run("--add-host", "v4", "-n", "1", "--host", "v1", *WHERE)) == ["v1"]
    assert nodes(dvm) == ["v1", "v2", "v3", "v4"]


def test_hosts_of_a_file(pooled):
    dvm = pooled()
    (dvm.tmpdir / "more").write_text("v3 slots=1\n# comment\nv2\n")
    assert ran_on(dvm.run("--add-hostfile", "more", *WHERE)) == ["v1", "v2", "v3"]


@pytest.mark.user
def test_nodes_of_the_pool_are_activated(pooled):
    dvm = pooled(pool=7)
    (dvm.tmpdir / "more").write_text("v8\n")
    assert ran_on(dvm.run("--activate", "v4", *WHERE)) == ["v1", "v4"]
    assert ran_on(dvm.run("--activate", "+n2", *WHERE)) == ["v1", "v2", "v3", "v4"]
    assert ran_on(dvm.run("--activate", "file=more", "-n", "5", *WHERE)) == ["v1", "v2", "v3", "v4", "v8"]
    assert len(ran_on(dvm.run("--activate", "+ALL", *WHERE))) == 8
    assert len(ran_on(dvm.run("--activate", "+all", *WHERE))) == 8, "where none is idle there is nothing to do"


def test_several_programs_of_a_job_may_ask(pooled):
    dvm = pooled()
    ran = dvm.run("-n", "1", "--add-host", "v2", "sh", "-c", "echo $TIDE_NODE", ":",
                  "-n", "2", "--add-host", "v3", "sh", "-c", "echo $TIDE_NODE")
    assert ran_on(ran) == ["v1", "v2", "v3"]


def test_a_map_that_is_only_shown_starts_nothing(pooled):
    dvm = pooled()
    assert dvm.run("--add-host", "v2", "--do-not-launch", "true").returncode == 0
    assert nodes(dvm) == ["v1"]


# ---- what can't be had ----

# row:E1
def test_requests_that_cannot_be_met(pooled):
    dvm = pooled()
    for words, argv in [("'node7' can't join", ["--add-host", "v2,node7"]),
                        ("9 nodes wanted, and the pool has 3", ["--activate", "+n9"]),
                        ("'node7' can't be activated", ["--activate", "node7"])]:
        ran = dvm.run(*argv, "true")
        assert ran.returncode == MAP_FAILED, ran.stderr
        assert words in ran.stderr and "does not get the nodes" in ran.stderr, ran.stderr
        assert state_of(dvm, last_job(dvm)) == "PRTE_JOB_STATE_ALLOC_FAILED"
    for words, argv in [("'+n0' does not name a host", ["--add-host", "+n0"]), ("'^v1'", ["--add-host", "v2,^v1"]),
                        ("'+two'", ["--activate", "+two"]), ("'+n0'", ["--activate", "+n0"]),
                        ("'+n1,v2'", ["--activate", "+n1,v2"]), ("'0' is no number of slots", ["--add-host", "v2:0"])]:
        ran = dvm.run(*argv, "true")
        assert ran.returncode == 2 and words in ran.stderr, (argv, ran.stderr)
    for argv in (["--add-hostfile", "/nowhere"], ["--activate", "file=/nowhere"]):
        ran = dvm.run(*argv, "true")
        assert ran.returncode == 1 and "/nowhere" in ran.stderr, (argv, ran.stderr)
    assert nodes(dvm) == ["v1"]
    assert ran_on(dvm.run(*WHERE)) == ["v1"]


# row:E5 row:E6 row:E1
@pytest.mark.user
def test_a_node_that_cannot_be_started_fails_the_job_and_nothing_else(pooled):
    dvm = pooled(failpoint=FAIL)
    ran = dvm.run("--add-host", "v2,v3", "true")
    assert ran.returncode == JOB_FAILED, ran.stderr
    assert "was not launched: the DVM could not be extended" in ran.stderr and "failpoint" in ran.stderr, ran.stderr
    assert state_of(dvm, 1) == "PRTE_JOB_STATE_NEVER_LAUNCHED"
    settled(dvm)
    assert nodes(dvm) == ["v1"] and len(dvm.daemon_pids()) == 1
    assert ran_on(dvm.run(*WHERE)) == ["v1"]


# row:E5
def test_a_machine_that_lets_nobody_in(is_elastic):
    with Machines("alpha", "beta", "gamma") as machines:
        machines.rule("beta", "deny me@beta: Permission denied (publickey).")
        with DvmOverMachines(machines, ["alpha"], up_options=["--elastic"] if is_elastic else []) as dvm:
            ran = dvm.tool("prun", "--add-host", "gamma,beta", "true")
            assert ran.returncode == JOB_FAILED, ran.stderr
            assert "beta does not let us in without a password" in ran.stderr
            assert "try: ssh-copy-id beta" in ran.stderr
            # One that found the head in the moment in which that gave it up goes by itself.
            wait_until(lambda: not machines.processes("gamma"), what="nothing is left on gamma")
            assert nodes(dvm) == ["alpha"]
            ran = dvm.tool("prun", "--add-host", "gamma:1", *WHERE)
            assert ran_on(ran) == ["alpha", "alpha", "gamma"]
        machines.assert_nothing_left()


# ---- others meanwhile ----

# row:E1 row:E2 row:E16 row:E17
def test_other_jobs_meanwhile(pooled, is_elastic):
    dvm = pooled(failpoint=HOLD)
    asking = dvm.start("prun", "--add-host", "v2", *WHERE)
    under_way(dvm)
    state = WAITING if is_elastic else "PRTE_JOB_STATE_DAEMONS_LAUNCHED"
    wait_until(lambda: state_of(dvm, 1) == state, what="the job waits for its node")
    explained = dvm.tool("tide", "explain", "1").stdout
    assert "the DVM is extended by the nodes that it asked for" in explained, explained
    assert "no report yet from v2" in explained, explained
    other = dvm.start("prun", "-n", "1", "--map-by", ":OVERSUBSCRIBE", "sh", "-c", "echo $TIDE_NODE")
    if is_elastic:
        wait_until(lambda: state_of(dvm, 2) == WAITING, what="the other job is kept back")
        assert dvm.status()["campaigns"][0]["parked_jobs"] == 2
        release(dvm)
    assert ran_on(dvm.finish(other)) == ["v1"]
    if not is_elastic:
        assert state_of(dvm, 1) == state
        release(dvm)
    assert ran_on(dvm.finish(asking)) == ["v1", "v2"]


# row:E6 row:E17
def test_a_job_that_was_kept_back_is_freed_when_the_grow_fails(pooled, is_elastic):
    dvm = pooled(failpoint=HOLD, tide_grow_timeout="2s")
    asking = dvm.start("prun", "--add-host", "v2", "true")
    under_way(dvm)
    other = dvm.start("prun", "-n", "1", "sh", "-c", "echo $TIDE_NODE")
    said = dvm.finish(asking)
    assert said.returncode == JOB_FAILED and "within 2 s" in said.stderr, said.stderr
    assert ran_on(dvm.finish(other)) == ["v1"]
    assert ("WAITING_FOR_DAEMONS" in steps_of(dvm, 2)) == is_elastic


# row:E17 two submitters at once
def test_two_ask_for_the_same_nodes(pooled):
    dvm = pooled(failpoint=HOLD)
    asking = []
    for hosts in ("v2,v3", "v3,v2,v4"):
        asking.append(dvm.start("prun", "--add-host", hosts, "-n", "1", *WHERE))
        under_way(dvm, len(asking))
    release(dvm)
    for job in asking:
        assert len(ran_on(dvm.finish(job))) == 1
    assert nodes(dvm) == ["v1", "v2", "v3", "v4"]
    assert len(dvm.daemon_pids()) == 4


def test_many_ask_at_once(pooled):
    dvm = pooled(pool=6)
    hosts = ["v2", "v2,v3", "v4", "v3,v4", "v5,v6", "v6,v7,v2"]
    asking = [dvm.start("prun", "--add-host", names, "-n", "1", "--map-by", ":OVERSUBSCRIBE", "true") for names in hosts]
    for job in asking:
        said = dvm.finish(job)
        assert said.returncode == 0, said.stderr
    settled(dvm)
    assert len(nodes(dvm)) == 7 and len(dvm.daemon_pids()) == 7


# row:E6 both depend on it
def test_two_that_ask_for_a_node_that_does_not_come(pooled):
    dvm = pooled(failpoint=HOLD, tide_grow_timeout="2s")
    asking = [dvm.start("prun", "--add-host", "v2", "true") for _ in range(2)]
    for job in asking:
        assert dvm.finish(job).returncode == JOB_FAILED
    assert nodes(dvm) == ["v1"]


# ---- who does not wait for it ----

# row:E17 no daemon is an orphan
@pytest.mark.parametrize("how", ["killed", "client killed", "interrupted"])
def test_a_job_that_ends_while_it_waits_for_its_nodes(pooled, how):
    dvm = pooled(failpoint=HOLD)
    asking = dvm.start("prun", "--add-host", "v2", "true")
    under_way(dvm)
    if how == "killed":
        assert dvm.tool("tide", "kill", "1").returncode == 0
    else:
        asking.send_signal(signal.SIGKILL if how == "client killed" else signal.SIGINT)
    assert dvm.finish(asking).returncode != 0
    wait_until(lambda: not dvm.jobs()["jobs"], what="the job has ended")
    assert len(dvm.status()["campaigns"]) == 1, "the grow goes on"
    release(dvm)
    settled(dvm)
    assert nodes(dvm) == ["v1", "v2"]
    assert ran_on(dvm.run(*WHERE)) == ["v1", "v2"]


# row:E15
def test_taking_the_dvm_down(pooled):
    dvm = pooled(failpoint=HOLD)
    asking = dvm.start("prun", "--add-host", "v2", "true")
    under_way(dvm)
    dvm.down()
    said = dvm.finish(asking)
    assert said.returncode != 0 and "the DVM is taken down" in said.stderr, said.stderr


# ---- prterun ----

@pytest.mark.user
def test_a_dvm_of_its_own(make_dvm):
    dvm = make_dvm(nodes=1)  # for its place
    ran = dvm.tool("prterun", "--nodes", "3", "--max-vm-size", "1", "--slots", "1", "--activate", "+all", *WHERE)
    assert ran_on(ran) == ["v1", "v2", "v3"]
    ran = dvm.tool("prterun", "--nodes", "2", "--max-vm-size", "1", "--add-host", "v9", "true")
    assert ran.returncode == MAP_FAILED and "'v9' can't join" in ran.stderr, ran.stderr


# ---- PMIx ----

def where_spawned(dvm, *keys):
    """Where the two processes run that a process spawns, which ask for nodes by these keys. They stay until it has asked
    how many they are."""
    gate = Gate(dvm.tmpdir / f"gate-{keys[0].partition('=')[0]}")
    job = dvm.start("tide", "run", *SPAWNER, "2", "sh", "-c", f"echo at $TIDE_NODE; {gate.wait_command()}", "--", *keys)
    said = [job.stdout.readline() for _ in range(3)]
    assert [line for line in said if line.startswith("spawned") and line.endswith(" of 2\n")], (said, job.poll())
    wait_until(lambda: gate.try_open() and False or job.poll() is not None, what="all have ended")
    assert dvm.finish(job).returncode == 0
    return sorted(line.strip() for line in said if line.startswith("at"))


# row:E17
def test_a_process_spawns_a_job_that_brings_nodes_along(pooled):
    dvm = pooled()
    (dvm.tmpdir / "more").write_text("v4\n")
    assert where_spawned(dvm, "addhost=v2,v3", "host=v2,v3") == ["at v2", "at v3"]
    more = f"addhostfile={dvm.tmpdir / 'more'}"
    assert where_spawned(dvm, more, "host=v4:2", "mapby=:OVERSUBSCRIBE") == ["at v4", "at v4"]
    assert nodes(dvm) == ["v1", "v2", "v3", "v4"]
    for key in ("addhost=nowhere", "addhost=a,,b", "addhostfile=/nowhere"):
        assert "spawn: " in dvm.run(*SPAWNER, "2", "true", "--", key).stdout
    settled(dvm)
