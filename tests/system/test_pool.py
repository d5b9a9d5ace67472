"""Where nodes come from and go back to: leases of the pool, several resource managers at once, a DVM without nodes."""

import json

import pytest

from dvm import wait_until
from machines import DvmOverMachines, Machines
from growing import (DONE, UNDONE, USAGE, done, events, kinds, nodes, refused, release, settled, start_deaf, tide,
                   where)


def lease_of(dvm, allocation="a1"):
    """What is left of it, as tide status --json has it; None: there is none."""
    found = [one for one in dvm.status()["allocations"] if one["id"] == allocation]
    return found[0]["lease"] if found else None


def grown_for(dvm, time, *options):
    said = tide(dvm, "grow", "--count", "1", "--time", time, "--wait", *options)
    assert said.returncode == DONE, said.stdout + said.stderr
    return said


# ---- leases ----

# row:E17
@pytest.mark.user
def test_a_lease_is_warned_of_and_ends(elastic):
    dvm = elastic(nodes=1, pool=1)
    said = grown_for(dvm, "6s", "--warn", "2s")
    assert said.stdout.startswith("growing by 1 node: v2 (allocation a1)\nfor 6 s, then they go back\n"), said.stdout
    lease = lease_of(dvm)
    assert 0 < lease["left_ms"] <= 6000 and lease["warn_ms"] == 2000, lease
    shown = tide(dvm, "status").stdout
    assert "ALLOCATION  LEASE" in shown and " left, warn" in shown, shown
    wait_until(lambda: nodes(dvm) == ["v1"], limit_s=30, what="v2 went back")
    settled(dvm)
    told = [(kind, detail) for kind, detail in events(dvm) if kind.startswith(("lease", "shrink"))]
    assert [kind for kind, _ in told] == ["lease-warning", "lease-ended", "shrink-begun", "shrink-done"], told
    assert "the lease of allocation a1 ends in" in told[0][1]
    counters = dvm.status()["counters"]
    assert (counters["elastic.lease_warnings"], counters["elastic.lease_ends"], counters["elastic.shrinks"]) == (1, 1, 1)
    assert "not asked for: the lease of allocation a1 is over" in tide(dvm, "explain", "a1").stdout
    done(dvm, "grow", "--host", "v2")
    assert where(dvm, 2) == ["v1", "v2"]
    assert lease_of(dvm, "a2") is None


# row:E17 row:E9
def test_jobs_are_held_while_a_lease_ends(elastic):
    dvm = elastic(nodes=1, pool=1, tide_release_grace="40s", tide_kill_grace="40s")
    grown_for(dvm, "6s")
    gate, deaf = start_deaf(dvm, "v2")
    wait_until(lambda: [one["phase"] for one in dvm.status()["campaigns"]] == ["processes"],
               limit_s=30, what="the lease is over")
    job = dvm.start("tide", "run", "-n", "1", "sh", "-c", "echo $TIDE_NODE")
    wait_until(lambda: dvm.status()["campaigns"][0]["parked_jobs"] == 1, what="the job is parked")
    wait_until(gate.try_open, what="the process waits")
    assert dvm.finish(job).stdout == "v1\n"
    ended = dvm.finish(deaf)
    assert ended.returncode != 0 and "released" in ended.stderr, ended.stderr
    settled(dvm)
    assert nodes(dvm) == ["v1"]


def test_a_lease_is_prolonged(elastic):
    dvm = elastic(nodes=1, pool=1)
    grown_for(dvm, "6s")
    said = tide(dvm, "grow", "--extend", "a1", "--time", "1h", "--warn", "5m")
    assert said.returncode == DONE and "the lease of allocation a1 is prolonged" in said.stdout, said.stdout + said.stderr
    lease = lease_of(dvm)
    assert lease["left_ms"] > 3_000_000 and lease["warn_ms"] == 300_000 and not lease["warned"], lease
    begun = dvm.status()["dvm"]["age_ms"]
    wait_until(lambda: dvm.status()["dvm"]["age_ms"] > begun + 6500, limit_s=30,
               what="the first end has passed")
    assert nodes(dvm) == ["v1", "v2"] and not dvm.status()["campaigns"]
    assert kinds(dvm, "lease") == ["lease-extended"]
    more = json.loads(tide(dvm, "grow", "--extend", "a1", "--time", "10m", "--json").stdout)["change"]
    assert (more["complete"], more["allocation"], more["nodes"], more["outcome"]) == (True, "a1", ["v2"], "done")
    assert more["lease_ms"] > lease["left_ms"]


# row:E17
def test_the_pool_has_a_limit_of_its_own(elastic):
    dvm = elastic(nodes=1, pool=3, up_options=["--pool-lease", "10m", "--pool-warn", "30s"])
    assert lease_of(dvm) is None, "what it was started with stays"
    done(dvm, "grow", "--count", "1")
    lease = lease_of(dvm)
    assert 0 < lease["left_ms"] <= 600_000 and lease["warn_ms"] == 30_000, lease
    cut = "; 1 h 30 min was asked for, and resource manager pool grants 10 min at most\n"
    said = done(dvm, "grow", "--count", "1", "--time", "90m")
    assert said.stdout.startswith("growing by 1 node: v3 (allocation a2)\nfor 10 min, then they go back" + cut), said.stdout
    pushed = tide(dvm, "pool", "push", "--count", "1")
    assert pushed.returncode == DONE
    assert pushed.stdout == ("the pool gives the DVM 1 node: v4 (for 10 min); tide status and tide events show how it "
                             "goes\n")
    wait_until(lambda: lease_of(dvm, "a3"), what="what is pushed has a lease, too")
    settled(dvm)
    longer = tide(dvm, "grow", "--extend", "a1", "--time", "90m")
    assert longer.returncode == DONE and longer.stdout.endswith(cut), longer.stdout
    assert lease["left_ms"] < lease_of(dvm)["left_ms"] <= 1_200_000
    assert tide(dvm, "pool", "reclaim", "--host", "v4").stdout.startswith("the pool takes back 1 node: v4; ")
    wait_until(lambda: nodes(dvm) == ["v1", "v2", "v3"], what="v4 went back")
    settled(dvm)
    change = json.loads(tide(dvm, "grow", "--count", "1", "--time", "90m", "--wait", "--json").stdout)["change"]
    assert 0 < change["lease_ms"] <= 600_000 and change["lease_cut_by"] == "pool", change


def test_leases_that_are_refused(elastic, make_dvm):
    dvm = elastic(nodes=1, pool=1)
    refused(dvm, "no node that stays in the DVM belongs to an allocation 'a7'", "grow", "--extend", "a7", "--time", "5m")
    done(dvm, "grow", "--count", "1")
    refused(dvm, "allocation a1 has no lease", "grow", "--extend", "a1", "--time", "5m")
    for words, argv in (("says how much", ["--extend", "a1"]),
                        ("is no time", ["--count", "1", "--time", "soon"]),
                        ("is no time", ["--count", "1", "--time", "0"]),
                        ("both say which nodes", ["--extend", "a1", "--count", "1", "--time", "5m"])):
        said = tide(dvm, "grow", *argv)
        assert said.returncode == USAGE and words in said.stderr, said.stderr
    with pytest.raises(AssertionError, match="--pool-lease is for a DVM that grows"):
        make_dvm(nodes=1, up_options=["--pool-lease", "5m"])


def test_a_manager_that_gives_no_time_is_a_refusal(elastic):
    dvm = elastic(nodes=1, pool=1, failpoint="action.ask_for_time:fail")
    grown_for(dvm, "1h")
    refused(dvm, "failpoint", "grow", "--extend", "a1", "--time", "1h")


# ---- several resource managers ----

@pytest.fixture
def two_managers():
    """A function (failpoint) → DVM with beta of the pool and gamma of the manager hosts, in two allocations."""
    machines = Machines("alpha", "beta", "gamma")
    dvms = []

    def make(failpoint):
        pool = machines.folder / "pool"
        pool.write_text("alpha\nbeta slots=2\n")
        dvm = DvmOverMachines(machines, ["alpha"], up_options=["--elastic", "--pool-hostfile", str(pool)],
                              prtemca={"tide_failpoint": failpoint})
        dvm.__enter__()
        dvms.append(dvm)
        done(dvm, "grow", "--count", "1")
        done(dvm, "grow", "--host", "gamma:2")
        assert {node["name"]: node["manager"] for node in dvm.status()["nodes"]} == {
            "alpha": "pool", "beta": "pool", "gamma": "hosts"}
        return dvm

    yield make
    for dvm in dvms:
        dvm.__exit__(None, None, None)
    machines.close()


# row:C6
def test_the_end_is_told_when_every_manager_had_its_say(two_managers):
    dvm = two_managers("action.return_nodes@2:hold")
    shrinking = dvm.start("tide", "shrink", "--host", "beta,gamma", "--wait")
    wait_until(lambda: [one["managers"] for one in dvm.status()["campaigns"]] == [["hosts"]],
               what="the pool has answered, hosts has not")
    assert nodes(dvm) == ["alpha"]
    assert shrinking.poll() is None, "not told yet"
    explained = tide(dvm, "explain", "change:4").stdout
    assert "resource manager hosts to answer whether it takes back gamma" in explained, explained
    release(dvm, "action.return_nodes")
    said = dvm.finish(shrinking)
    assert said.returncode == DONE and "shrunk by 2 nodes: beta, gamma" in said.stdout, said.stderr
    done(dvm, "grow", "--host", "beta,gamma")
    assert nodes(dvm) == ["alpha", "beta", "gamma"]


# row:C6
def test_a_manager_that_does_not_answer_changes_nothing(two_managers):
    dvm = two_managers("action.return_nodes@2:hold")
    said = done(dvm, "shrink", "--host", "beta,gamma")
    assert "shrunk by 2 nodes: beta, gamma" in said.stdout
    assert ("return-failed", "resource manager hosts has not taken back gamma: no answer") in events(dvm)
    done(dvm, "grow", "--host", "beta,gamma")
    release(dvm, "action.return_nodes")
    refused(dvm, "the pool has none left", "grow", "--count", "1")


# row:C6
def test_a_manager_that_fails_changes_nothing(two_managers):
    dvm = two_managers("action.return_nodes@2:fail")
    done(dvm, "shrink", "--host", "beta,gamma")
    assert ("return-failed", "resource manager hosts has not taken back gamma: failed") in events(dvm)
    assert nodes(dvm) == ["alpha"]


# row:C6 row:E5
def test_a_failed_grow_goes_back_to_both(two_managers):
    dvm = two_managers("action.launch_daemons@4:fail")
    done(dvm, "shrink", "--host", "beta,gamma")
    said = tide(dvm, "grow", "--host", "gamma,beta", "--wait")
    assert said.returncode == UNDONE, said.stderr
    assert nodes(dvm) == ["alpha"]
    explained = json.loads(tide(dvm, "explain", "change:5", "--json").stdout)["change"]
    assert [step["phase"] for step in explained["way"]][-2:] == ["returning", "failed"]


# ---- counters ----

# row:E14
def test_what_is_held_goes_on_or_is_given_up_and_is_counted(elastic):
    dvm = elastic(nodes=1, pool=2, failpoint="action.launch_daemons@3:hold", tide_grow_timeout="2s")
    grown_for(dvm, "1h")
    failing = dvm.start("tide", "grow", "--count", "1", "--wait")
    wait_until(lambda: dvm.status()["campaigns"], what="the grow is under way")
    shrinking = dvm.start("tide", "shrink", "--host", "v2", "--wait")
    given_up = dvm.start("tide", "run", "-n", "1", "true")
    assert dvm.finish(failing).returncode == UNDONE
    assert dvm.finish(shrinking).returncode == DONE
    assert dvm.finish(given_up).returncode != 0
    release(dvm, "action.launch_daemons")
    gate, deaf = start_deaf(dvm, "v1")
    shrinking = dvm.start("tide", "shrink", "--host", "v1", "--wait")
    wait_until(lambda: dvm.status()["campaigns"], what="the shrink waits")
    growing = dvm.start("tide", "grow", "--host", "v3", "--wait")
    held = dvm.start("tide", "run", "-n", "1", "sh", "-c", "echo $TIDE_NODE")
    wait_until(lambda: dvm.status()["counters"]["jobs.held"] == 2, what="the job is parked")
    assert dvm.finish(growing).returncode == DONE
    wait_until(gate.try_open, what="the process waits")
    assert dvm.finish(shrinking).returncode == DONE
    dvm.finish(deaf)
    assert dvm.finish(held).stdout == "v3\n"
    counters = dvm.status()["counters"]
    assert {name: counters[name] for name in (
        "elastic.grows", "elastic.shrinks", "elastic.rollbacks", "jobs.held", "jobs.released", "jobs.given_up")} == {
        "elastic.grows": 3, "elastic.shrinks": 2, "elastic.rollbacks": 1, "jobs.held": 2, "jobs.released": 1,
        "jobs.given_up": 1}
    assert counters["tree.repairs"] == 2, "one for each shrink"


# ---- a DVM without nodes ----

def test_a_dvm_without_nodes_says_so_and_grows_again(elastic):
    dvm = elastic(nodes=2, pool=1)
    done(dvm, "shrink", "--count", "2")
    assert "0 nodes" in tide(dvm, "status").stdout
    for argv in (["-n", "1"], [], ["-n", "2", "--map-by", ":OVERSUBSCRIBE"]):
        ran = dvm.run(*argv, "true")
        assert ran.returncode != 0, argv
        assert "the DVM has no nodes for it at present: all were released, reserved or lost" in ran.stderr, ran.stderr
        assert "tide grow --count N" in ran.stderr, ran.stderr
    done(dvm, "grow", "--count", "1")
    assert where(dvm, 1) == ["v1"]
    assert dvm.run("-n", "2", "true").returncode != 0


def test_a_dvm_that_keeps_its_nodes_is_not_told_to_grow(make_dvm):
    dvm = make_dvm(nodes=1, slots=1)
    dvm.kill_daemon("v1")
    wait_until(lambda: nodes(dvm) == [], what="v1 is lost")
    ran = dvm.run("-n", "1", "true")
    assert ran.returncode != 0 and "no nodes to run on" in ran.stderr and "tide grow" not in ran.stderr, ran.stderr
