"""A DVM that grows and shrinks while it runs: tide grow, shrink and pool, and what becomes of jobs meanwhile."""

import json
import os
import signal

import pytest

from dvm import is_alive, wait_until
from growing import (DONE, REFUSED, UNDONE, UNKNOWN, USAGE, begin, done, ended, nodes, refused, running, settled,
                     start_waiting, tide, where)
from jobs import Gate
from machines import DvmOverMachines, Machines


# ---- growing ----

@pytest.mark.user
def test_grow_by_count(elastic):
    dvm = elastic()
    said = done(dvm, "grow", "--count", "2")
    assert said.stdout == ("growing by 2 nodes: v3, v4 (allocation a1)\n"
                           "grown by 2 nodes: v3, v4; the DVM has 4 now\n")
    assert sorted(line.split(" has reported")[0] for line in said.stderr.splitlines()) == [
        "tide grow: node v3", "tide grow: node v4"]
    assert {node["name"]: node["allocation"] for node in dvm.status()["nodes"]} == {
        "v1": None, "v2": None, "v3": "a1", "v4": "a1"}
    assert where(dvm, 4) == ["v1", "v2", "v3", "v4"]


@pytest.mark.user
def test_grow_by_name(elastic):
    dvm = elastic()
    done(dvm, "grow", "--host", "v5,v3")
    assert where(dvm, 4) == ["v1", "v2", "v3", "v5"]
    again = done(dvm, "grow", "--host", "v5")
    assert again.stdout == "nothing to do: the DVM has v5 already\n"
    change = json.loads(tide(dvm, "grow", "--host", "v5", "--json").stdout)["change"]
    assert (change["number"], change["allocation"], change["complete"], change["outcome"]) == (None, None, True, "done")
    assert "(allocation a2)" in done(dvm, "grow", "--count", "1").stdout, "those that brought nothing have no name"
    assert nodes(dvm) == ["v1", "v2", "v3", "v4", "v5"]


def test_without_waiting_the_first_answer_is_enough(elastic):
    dvm = elastic()
    said = tide(dvm, "grow", "--count", "1", "--json")
    assert said.returncode == DONE, said.stderr
    assert json.loads(said.stdout)["change"] == {
        "kind": "grow", "number": 2, "allocation": "a1", "nodes": ["v3"], "already": [], "complete": False, "lease_ms": None,
        "lease_cut_by": None, "outcome": None, "cause": None, "text": None}
    wait_until(lambda: nodes(dvm) == ["v1", "v2", "v3"], what="v3 is there")
    settled(dvm)
    assert where(dvm, 3) == ["v1", "v2", "v3"]


def test_prte_takes_the_parameter(make_dvm):
    dvm = make_dvm(nodes=1, slots=1, up_options=["--pool", "1"], prtemca={"prte_elastic_mode": 1})
    done(dvm, "grow", "--count", "1")
    assert nodes(dvm) == ["v1", "v2"]


def test_a_node_that_was_lost_can_be_had_again(elastic):
    dvm = elastic(nodes=1, pool=1)
    done(dvm, "grow", "--count", "1")
    dvm.kill_daemon("v2")
    wait_until(lambda: nodes(dvm) == ["v1"], what="v2 is lost")
    done(dvm, "grow", "--host", "v2")
    assert where(dvm, 2) == ["v1", "v2"]


# ---- shrinking ----

@pytest.mark.user
def test_shrink_by_count_name_and_allocation(elastic):
    dvm = elastic(nodes=4, pool=2)
    done(dvm, "grow", "--count", "2")
    daemons = dvm.daemon_pids()
    said = done(dvm, "shrink", "--count", "1")
    assert said.stdout.endswith("shrunk by 1 node: v6; the DVM has 5 now\n"), said.stdout
    assert said.stderr == "tide shrink: node v6 has left\n"
    done(dvm, "shrink", "--host", "v1,v3")
    assert nodes(dvm) == ["v2", "v4", "v5"]
    done(dvm, "shrink", "--alloc", "a1")
    assert nodes(dvm) == ["v2", "v4"]
    assert where(dvm, 2) == ["v2", "v4"]
    assert not [node for node in ("v1", "v3", "v5", "v6") if is_alive(daemons[node])]


def test_shrink_of_all_and_grow_again(elastic):
    dvm = elastic(nodes=2, pool=1)
    done(dvm, "shrink", "--count", "2")
    assert nodes(dvm) == []
    done(dvm, "grow", "--count", "3")
    assert where(dvm, 3) == ["v1", "v2", "v3"]


def test_the_same_node_five_times(elastic):
    dvm = elastic(nodes=1, pool=1)
    for _ in range(5):
        done(dvm, "grow", "--count", "1")
        assert where(dvm, 2) == ["v1", "v2"]
        done(dvm, "shrink", "--host", "v2")
        assert where(dvm, 1) == ["v1"]


def test_a_shrink_ends_what_runs_there_and_nothing_else(elastic):
    dvm = elastic(nodes=2, pool=0, tide_release_grace="1s", tide_kill_grace="200ms")
    gate, stays = start_waiting(dvm, 1, "--host", "v1")
    goes = dvm.start("tide", "run", "-n", "1", "--host", "v2", "sleep", "1000")
    wait_until(lambda: running(dvm) == 2, what="both jobs run")
    done(dvm, "shrink", "--host", "v2")
    ended = dvm.finish(goes)
    assert ended.returncode != 0 and "v2" in ended.stderr, ended.stderr
    wait_until(gate.try_open, what="the other job still waits")
    assert dvm.finish(stays).returncode == 0


@pytest.mark.parametrize("options", [(), ("--rtos", "recoverable")], ids=["plain", "recoverable"])
def test_who_is_released_has_time_to_save_what_it_has(elastic, options):
    """The time of tide_release_grace, and not what a job has that is killed."""
    dvm = elastic(nodes=2, pool=0, tide_release_grace="60s", tide_kill_grace="1ms")
    gate = Gate(dvm.tmpdir / "save")
    save = f"trap 'echo saving; {gate.wait_command()}; echo saved; exit 0' TERM; sleep 1000 & echo up; wait"
    job = dvm.start("tide", "run", "-n", "1", "--host", "v2", *options, "bash", "-c", save)
    assert job.stdout.readline() == "up\n"
    change = begin(dvm, "shrink", "--host", "v2")
    assert job.stdout.readline() == "saving\n"
    wait_until(gate.try_open, what="the process saves")
    ended(dvm, change)
    job = dvm.finish(job)
    assert job.stdout == "saved\n" and job.returncode != 0, (job.stdout, job.stderr)


def test_processes_that_a_recoverable_job_loses_are_told_of_once(elastic):
    dvm = elastic(nodes=2, pool=0, tide_kill_grace="200ms")
    gate, job = start_waiting(dvm, 2, "--map-by", "node", "--rtos", "recoverable")
    done(dvm, "shrink", "--host", "v2")
    wait_until(gate.try_open, what="the other process waits")
    ended = dvm.finish(job)
    assert ended.returncode != 0, ended
    assert "its processes on v2 were ended because this node is released" in ended.stderr, ended.stderr
    assert "more of its processes" not in ended.stderr, ended.stderr


# ---- failures ----

# row:E5
def test_a_grow_with_a_daemon_that_cannot_be_started_is_undone(elastic):
    dvm = elastic(failpoint="action.launch_daemons@2:fail")
    before = dvm.daemon_pids()
    said = tide(dvm, "grow", "--count", "2", "--wait")
    assert said.returncode == UNDONE, said.stdout + said.stderr
    assert "the DVM has not grown, it is as it was before" in said.stderr, said.stderr
    assert dvm.daemon_pids() == before
    told = tide(dvm, "grow", "--host", "v4", "--wait", "--json")
    assert told.returncode == UNDONE
    change = json.loads(told.stdout)["change"]
    assert (change["outcome"], change["cause"]) == ("failed", "cannot-start")
    assert dvm.daemon_pids() == before
    assert where(dvm, 2) == ["v1", "v2"]


# row:E5 row:E3
def test_a_daemon_that_finds_no_way_to_the_head_ends_nothing_of_others(elastic):
    """It has lost a head that lives, and must not do what is to be done after the death of one."""
    dvm = elastic(nodes=2, pool=1, failpoint="action.connect/v3:fail", tide_reattach_timeout="200ms")
    gate, job = start_waiting(dvm, 2)
    assert tide(dvm, "grow", "--count", "1", "--wait").returncode == UNDONE
    assert job.poll() is None and running(dvm) == 2
    wait_until(gate.try_open, what="the job still waits")
    assert dvm.finish(job).returncode == 0
    assert where(dvm, 2) == ["v1", "v2"]


def test_a_dvm_that_dies_meanwhile_leaves_the_outcome_unknown(elastic):
    dvm = elastic(failpoint="action.launch_daemons@2:hold")
    waiting = dvm.start("tide", "grow", "--count", "1", "--wait")
    wait_until(lambda: dvm.status()["campaigns"], what="the grow is under way")
    dvm.abandon()
    os.kill(dvm.head_pid(), signal.SIGKILL)
    said = dvm.finish(waiting)
    assert said.returncode == UNKNOWN, said.stderr
    assert "whether it was done is not known" in said.stderr


# row:E15
def test_taking_the_dvm_down_ends_a_grow(elastic):
    dvm = elastic(failpoint="action.launch_daemons@2:hold")
    waiting = dvm.start("tide", "grow", "--count", "1", "--wait")
    wait_until(lambda: dvm.status()["campaigns"], what="the grow is under way")
    parked = dvm.start("tide", "run", "-n", "1", "true")
    wait_until(lambda: dvm.status()["campaigns"][0]["parked_jobs"] == 1, what="the job is parked")
    dvm.down()
    said = dvm.finish(waiting)
    assert said.returncode == UNDONE, said.stderr
    assert "the DVM ends" in said.stderr
    assert dvm.finish(parked).returncode != 0


def test_refusals(elastic):
    dvm = elastic()
    refused(dvm, "4 nodes wanted, and the pool has 3", "grow", "--count", "4")
    refused(dvm, "'node7' can't join: the DVM has nodes made of this machine only", "grow", "--host", "node7")
    refused(dvm, "does not name a host", "grow", "--host", "+n0")
    refused(dvm, "the DVM has no node 'v9'", "shrink", "--host", "v1,v9")
    refused(dvm, "3 nodes can't be released: the DVM has 2", "shrink", "--count", "3")
    refused(dvm, "no node of the DVM belongs to an allocation 'a7'", "shrink", "--alloc", "a7")
    both = tide(dvm, "grow", "--count", "1", "--host", "v5")
    assert both.returncode == USAGE
    assert "--count and --host both say which nodes" in both.stderr


def test_without_a_pool_there_is_nothing_to_grow_by(elastic):
    dvm = elastic(nodes=2, pool=0)
    refused(dvm, "tide up --elastic --pool N", "grow", "--count", "1")
    done(dvm, "shrink", "--host", "v1")
    done(dvm, "grow", "--count", "1")
    assert nodes(dvm) == ["v1", "v2"]


def test_a_resource_manager_that_fails_is_a_refusal(elastic):
    dvm = elastic(failpoint="action.ask_for_nodes:fail")
    refused(dvm, "the pool can't give nodes: failpoint", "grow", "--count", "1", "--wait")


def test_a_return_that_is_not_answered_changes_nothing(elastic):
    dvm = elastic(failpoint="action.return_nodes:fail")
    done(dvm, "shrink", "--host", "v2")
    assert nodes(dvm) == ["v1"]


def test_a_dvm_that_is_not_elastic_refuses(dvm):
    for argv in (["grow", "--count", "1"], ["shrink", "--count", "1"], ["pool", "push", "--count", "1"]):
        said = tide(dvm, *argv)
        assert said.returncode == REFUSED, said.stderr
        assert "it is not elastic" in said.stderr and "tide up --elastic" in said.stderr
    status = dvm.status()
    assert status["dvm"]["elastic"] is False and status["campaigns"] == []
    assert "elastic" not in tide(dvm, "status").stdout


def test_changes_and_held_jobs_are_counted(elastic):
    dvm = elastic(nodes=1, pool=2, failpoint="action.launch_daemons@2:hold", tide_grow_timeout="2s")
    growing = dvm.start("tide", "grow", "--count", "1", "--wait")
    wait_until(lambda: dvm.status()["campaigns"], what="the grow is under way")
    job = dvm.start("tide", "run", "-n", "1", "true")
    assert dvm.finish(growing).returncode == UNDONE
    dvm.finish(job)
    assert tide(dvm, "debug", "release", "action.launch_daemons").returncode == 0
    done(dvm, "shrink", "--count", "1")
    counters = dvm.status()["counters"]
    assert [counters[f"elastic.{what}"] for what in ("grows", "shrinks", "rollbacks")] == [1, 1, 1]
    assert (counters["jobs.held"], counters["tree.repairs"]) == (1, 1)


# ---- jobs meanwhile ----

# row:E2 row:E4 row:E16
@pytest.mark.user
def test_a_job_waits_for_a_grow_and_runs_on_the_new_node(elastic):
    dvm = elastic(nodes=1, pool=1, failpoint="action.launch_daemons@2:hold", state_base_verbose=1)
    growing = dvm.start("tide", "grow", "--count", "1", "--wait")
    wait_until(lambda: dvm.status()["campaigns"], what="the grow is under way")
    job = dvm.start("tide", "run", "-n", "2", "--map-by", "node", "sh", "-c", "echo $TIDE_NODE")
    state = "PRTE_JOB_STATE_WAITING_FOR_DAEMONS"
    wait_until(lambda: [row for row in dvm.jobs()["jobs"] if row["state"] == state], what="the job is parked")
    assert state in tide(dvm, "jobs").stdout
    row = dvm.jobs()["jobs"][0]
    assert (row["waits_for"], row["running"]) == ("change", 0)
    assert json.loads(tide(dvm, "ps", "1", "--json").stdout)["processes"] == []

    campaign = dvm.status()["campaigns"][0]
    assert (campaign["kind"], campaign["phase"], campaign["nodes"], campaign["missing"], campaign["parked_jobs"]) == (
        "grow", "starting", ["v2"], ["v2"], 1)
    shown = tide(dvm, "status").stdout
    assert "CHANGE  KIND  PHASE" in shown and "grow  starting" in shown, shown
    explained = tide(dvm, "explain", "1").stdout
    assert "held until the DVM has its new size" in explained and "no report yet from v2" in explained, explained

    assert tide(dvm, "debug", "release", "action.launch_daemons").returncode == 0
    assert dvm.finish(growing).returncode == DONE
    ran = dvm.finish(job)
    assert ran.returncode == 0, ran.stderr
    assert sorted(ran.stdout.split()) == ["v1", "v2"]
    assert "WAITING_FOR_DAEMONS" in wait_until(
        lambda: [step for step in [dvm.transitions(1)] if "TERMINATED" in step], what="the log has its end")[0]


# row:E3
def test_a_job_that_runs_goes_on_under_an_open_grow(elastic):
    dvm = elastic(failpoint="action.launch_daemons@2:hold")
    gate, job = start_waiting(dvm, 1)
    growing = dvm.start("tide", "grow", "--count", "1", "--wait")
    wait_until(lambda: dvm.status()["campaigns"], what="the grow is under way")
    wait_until(gate.try_open, what="the job waits")
    assert dvm.finish(job).returncode == 0
    assert dvm.status()["campaigns"], "it is still open"
    assert tide(dvm, "debug", "release", "action.launch_daemons").returncode == 0
    assert dvm.finish(growing).returncode == DONE


# row:E9
def test_a_job_waits_for_a_shrink(elastic):
    dvm = elastic(nodes=2, pool=0, tide_release_grace="40s", tide_kill_grace="40s")
    gate = Gate(dvm.tmpdir / "gate")
    holds = dvm.start("tide", "run", "-n", "1", "--host", "v2", "sh", "-c",
                      f"trap '' TERM; echo deaf; {gate.wait_command()}")
    assert holds.stdout.readline() == "deaf\n"
    shrinking = dvm.start("tide", "shrink", "--host", "v2", "--wait")
    wait_until(lambda: [one["phase"] for one in dvm.status()["campaigns"]] == ["processes"], what="the shrink waits")
    job = dvm.start("tide", "run", "-n", "1", "sh", "-c", "echo $TIDE_NODE")
    wait_until(lambda: dvm.status()["campaigns"][0]["parked_jobs"] == 1, what="the job is parked")
    assert [node["state"] for node in dvm.status()["nodes"]] == ["up", "leaving"]
    assert "processes there have to end" in tide(dvm, "explain", "2").stdout
    wait_until(gate.try_open, what="the process waits")
    assert dvm.finish(shrinking).returncode == DONE
    dvm.finish(holds)
    assert dvm.finish(job).stdout == "v1\n"


# row:E6
def test_a_job_that_waited_for_a_grow_that_fails_is_not_launched(elastic):
    dvm = elastic(failpoint="action.launch_daemons@2:hold", tide_grow_timeout="2s")
    growing = dvm.start("tide", "grow", "--count", "1", "--wait")
    wait_until(lambda: dvm.status()["campaigns"], what="the grow is under way")
    job = dvm.start("tide", "run", "-n", "1", "true")
    assert dvm.finish(growing).returncode == UNDONE
    ran = dvm.finish(job)
    assert ran.returncode != 0 and "was not launched" in ran.stderr, ran.stderr
    assert dvm.jobs("--all")["jobs"][0]["state"] == "PRTE_JOB_STATE_NEVER_LAUNCHED"
    assert where(dvm, 2) == ["v1", "v2"]


# ---- the pool as a scheduler ----

def test_the_pool_pushes_and_reclaims(elastic):
    dvm = elastic(nodes=1, pool=3)
    assert tide(dvm, "pool", "push", "--count", "2").returncode == DONE
    wait_until(lambda: nodes(dvm) == ["v1", "v2", "v3"], what="two were pushed")
    settled(dvm)
    assert where(dvm, 3) == ["v1", "v2", "v3"]
    assert tide(dvm, "pool", "reclaim", "--count", "1").returncode == DONE
    wait_until(lambda: nodes(dvm) == ["v1", "v2"], what="the last one was taken back")
    settled(dvm)
    assert tide(dvm, "pool", "push", "--host", "v4").returncode == DONE
    wait_until(lambda: nodes(dvm) == ["v1", "v2", "v4"], what="v4 was pushed")
    settled(dvm)
    assert tide(dvm, "pool", "reclaim", "--host", "v1,v4").returncode == DONE
    wait_until(lambda: nodes(dvm) == ["v2"], what="two were taken back")
    settled(dvm)
    refused(dvm, "4 nodes wanted, and the pool has 3", "pool", "push", "--count", "4")
    refused(dvm, "2 nodes can't be taken back: the DVM has 1", "pool", "reclaim", "--count", "2")
    refused(dvm, "no node 'v4' of the pool", "pool", "reclaim", "--host", "v4")


def test_events_tell_of_it(elastic):
    dvm = elastic(nodes=1, pool=1)
    done(dvm, "grow", "--count", "1")
    done(dvm, "shrink", "--count", "1")
    kinds = [json.loads(line)["kind"] for line in tide(dvm, "events", "--json").stdout.splitlines()]
    told = [kind for kind in kinds if kind.startswith(("grow", "shrink", "node-left"))]
    assert told == ["grow-begun", "grow-done", "shrink-begun", "node-left", "shrink-done"]


# ---- other machines ----

def test_machines_of_a_pool_and_machines_by_name():
    with Machines("alpha", "beta", "gamma") as machines:
        with DvmOverMachines(machines, ["alpha"], up_options=["--elastic"]) as dvm:
            done(dvm, "grow", "--host", "beta:1")
            assert nodes(dvm) == ["alpha", "beta"]
            done(dvm, "shrink", "--host", "alpha")
            assert nodes(dvm) == ["beta"]
            wait_until(lambda: not machines.processes("alpha"), what="nothing runs on alpha")
            done(dvm, "grow", "--count", "1")
            assert nodes(dvm) == ["alpha", "beta"]
        pool = machines.folder / "pool"
        pool.write_text("alpha\nbeta\ngamma slots=1\n")
        with DvmOverMachines(machines, ["alpha"], up_options=["--elastic", "--pool-hostfile", str(pool)]) as dvm:
            done(dvm, "grow", "--count", "2")
            assert nodes(dvm) == ["alpha", "beta", "gamma"]
        machines.assert_nothing_left()


def test_a_machine_that_lets_nobody_in_is_told_and_undone():
    with Machines("alpha", "beta") as machines:
        machines.rule("beta", "deny me@beta: Permission denied (publickey).")
        with DvmOverMachines(machines, ["alpha"], up_options=["--elastic"]) as dvm:
            said = tide(dvm, "grow", "--host", "beta", "--wait")
            assert said.returncode == UNDONE, said.stderr
            assert "beta does not let us in without a password" in said.stderr
            assert nodes(dvm) == ["alpha"]


# row:E14
def test_two_grows_at_once_of_which_the_second_is_done_first():
    with Machines("alpha", "beta", "gamma", "delta") as machines:
        with DvmOverMachines(machines, ["alpha"], up_options=["--elastic"]) as dvm:
            machines.stop("beta")
            first = dvm.start("tide", "grow", "--host", "beta", "--wait")
            wait_until(lambda: dvm.status()["campaigns"], what="the first grow is under way")
            done(dvm, "grow", "--host", "gamma")
            assert len(dvm.status()["campaigns"]) == 1, "the first is still open"
            machines.go_on("beta")
            said = dvm.finish(first)
            assert said.returncode == DONE, said.stderr
            assert nodes(dvm) == ["alpha", "beta", "gamma"]
            assert where(dvm, 3) == ["alpha", "beta", "gamma"]
