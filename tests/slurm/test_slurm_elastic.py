"""Grows and shrinks in a Slurm job are requests to Slurm: for commands, tools and jobs, at once or after a wait in its queue,
while jobs arrive; and what Slurm does by itself is followed."""

import pytest

from asking import NOT_FOUND, READY, SUCCESS
from dvm import wait_until
from growing import DONE, done, nodes, settled, tide
from slurm_dvm import SALLOC
from slurm_growing import (SEEN_LIMIT_S, assert_shares, asked_for, control, elastic, gone, happened, heard, interrupt, nodes_of,
                           none_pending, pending, told, under_load)
from swarm_dvm import everywhere
from swarm_growing import left_on


# ---- grow and shrink ----

# row:E17 row:E4 row:S9 row:R22
@pytest.mark.limit(120)
@pytest.mark.parametrize("how", ["batch", "salloc"])
def test_by_count_by_name_and_by_allocation_while_jobs_arrive(slurm, make_slurm_dvm, how):
    dvm = elastic(make_slurm_dvm, 3, how=how, **({"options": ("--no-kill", "--exclude=node1")} if how == SALLOC else {}))
    first = dvm.granted()
    free = [name for name in slurm.names() if name not in first]
    came = []

    def by_count():
        said = done(dvm, "grow", "--count", 2)
        assert "(allocation a1)" in said.stdout
        came.extend(name for name in nodes(dvm) if name not in first)
        assert_shares(dvm, first, came)

    def by_name():
        named = [name for name in free if name not in came][-2:]
        done(dvm, "grow", "--host", ",".join(named))
        assert_shares(dvm, first, came, named)
        came.extend(named)

    def a_node_back():
        done(dvm, "shrink", "--host", came[0])
        assert_shares(dvm, first, came[1:2], came[2:])
        gone(dvm, came[:1])

    def an_allocation_back():
        done(dvm, "shrink", "--alloc", "a2")
        assert_shares(dvm, first, came[1:2])
        gone(dvm, came[2:])

    def the_last_of_a_job_back():
        done(dvm, "shrink", "--host", came[1])
        assert_shares(dvm, first)

    under_load(dvm, [by_count, by_name, a_node_back, an_allocation_back, the_last_of_a_job_back])
    everywhere(dvm, first)


# row:R22
def test_the_job_of_the_start_gets_smaller_and_what_it_gave_back_is_free_for_others(slurm, take, make_slurm_dvm):
    dvm = elastic(make_slurm_dvm, 9)
    done(dvm, "shrink", "--count", 3)
    assert len(nodes(dvm)) == 6 and dvm.head in nodes(dvm)
    assert_shares(dvm, nodes(dvm))
    other = take(4)
    assert not set(other.nodes) & set(nodes(dvm))
    other.cancel()


# row:C6
def test_without_accounting_a_job_gets_smaller_once_and_keeps_the_rest_for_the_next_grow(slurm, make_slurm_dvm):
    dvm = elastic(make_slurm_dvm, 4)
    first = dvm.granted()
    done(dvm, "shrink", "--host", first[3])
    assert_shares(dvm, first[:3])
    done(dvm, "shrink", "--host", first[2])
    assert dvm.names() == first[:2] and dvm.granted() == first[:3], "Slurm has not taken it back"
    told(dvm, "has not taken back")
    assert not left_on(dvm, first[2:3])
    before = slurm.rpc_counts()
    done(dvm, "grow", "--count", 1)
    assert (slurm.rpc_counts() - before)["REQUEST_RESOURCE_ALLOCATION"] == 0, "what is idle is taken first"
    assert_shares(dvm, first[:3])
    done(dvm, "grow", "--count", 1)
    assert len(asked_for(dvm)) == 1
    everywhere(dvm, nodes(dvm))


# row:R22
@pytest.mark.limit(120)
def test_with_accounting_jobs_get_smaller_again_and_again(slurm_with_accounting, make_accounted_dvm):
    dvm = elastic(make_accounted_dvm, 4)
    first = dvm.granted()
    done(dvm, "grow", "--count", 4)
    came = [name for name in nodes(dvm) if name not in first]
    for count in (1, 2, 3):
        done(dvm, "shrink", "--host", f"{first[-count]},{came[-count]}")
        assert_shares(dvm, first[:-count], came[:-count])
    done(dvm, "shrink", "--host", came[0])
    assert_shares(dvm, first[:1])
    assert not happened(dvm, "return-failed")


# row:E10 row:R22
def test_the_node_of_a_script_stays_with_its_job(slurm, make_slurm_dvm):
    """Slurm does not take the first node of a batch job; the DVM goes on without a daemon there."""
    dvm = elastic(make_slurm_dvm, 3)
    first = dvm.granted()
    done(dvm, "shrink", "--host", first[0])
    assert dvm.names() == first[1:] and dvm.granted() == first
    everywhere(dvm, first[1:])
    done(dvm, "grow", "--count", 1)
    assert_shares(dvm, first)


# row:E5 row:R10
@pytest.mark.parametrize("host, words", [("nowhere", "Invalid node name specified"), ("-J", "begins with '-'"),
                                         ("$(id)", "'$' is nothing that a name of a host or user has")])
def test_names_that_slurm_does_not_know_are_refused(slurm, make_slurm_dvm, host, words):
    dvm = elastic(make_slurm_dvm, 2)
    said = tide(dvm, "grow", "--host", host)
    assert said.returncode != DONE and words in said.stderr, said.stderr
    assert len(nodes(dvm)) == 2 and not asked_for(dvm)


# ---- in the queue ----

# row:E17
def test_a_request_waits_with_slurms_reason_and_is_granted_when_another_job_ends(slurm, take, make_slurm_dvm):
    dvm = elastic(make_slurm_dvm, 2)
    other = take(8)
    growing = dvm.start("tide", "grow", "--count", 3, "--wait")
    (queued,) = pending(dvm)
    waits = f"Slurm job {queued.id} waits in the queue: Resources"
    wait_until(lambda: [ask["queued"] for ask in dvm.status()["asks"]] == [waits], what="the reason is known")
    assert f"still waiting: {waits}" in tide(dvm, "status").stdout
    other.cancel()
    said = dvm.finish(growing)
    assert said.returncode == DONE and f"tide grow: waiting for 3 nodes: {waits}\n" in said.stderr, said.stderr
    assert happened(dvm, "request-queued")[-1].endswith(f"waiting for 3 nodes: {waits}")
    assert len(nodes(dvm)) == 5 and [job.id for job in asked_for(dvm)] == [queued.id]


def test_a_request_that_is_interrupted_is_taken_back(slurm, take, make_slurm_dvm):
    dvm = elastic(make_slurm_dvm, 2)
    other = take(8)
    growing = dvm.start("tide", "grow", "--count", 1, "--wait")
    pending(dvm)
    interrupt(slurm, "tide grow", dvm.head)
    said = dvm.finish(growing)
    assert said.returncode == 130 and "what was not granted yet is not asked for any more" in said.stderr, said.stderr
    none_pending(dvm)
    assert not dvm.status()["asks"]
    other.give_back()
    done(dvm, "grow", "--count", 1)


# row:E7 row:C7
@pytest.mark.limit(90)
def test_many_grows_at_once_are_all_answered(slurm, take, make_slurm_dvm):
    """Some have to wait until nodes are given back."""
    dvm = elastic(make_slurm_dvm, 2)
    other = take(3)
    growing = [dvm.start("tide", "grow", "--count", 1, "--wait") for _ in range(8)]
    pending(dvm, 3)
    other.cancel()
    ended = [dvm.finish(one) for one in growing]
    assert [one.returncode for one in ended] == [DONE] * 8, [one.stderr for one in ended if one.returncode]
    assert len(nodes(dvm)) == 10 and len(asked_for(dvm)) == 8
    everywhere(dvm, slurm.names())
    done(dvm, "shrink", "--count", 8)
    wait_until(lambda: not asked_for(dvm), limit_s=20, what="all jobs of grows are gone")


# row:E2 row:E6
def test_a_job_that_waits_for_added_hosts_says_so_and_runs(slurm, take, make_slurm_dvm):
    dvm = elastic(make_slurm_dvm, 2)
    (name,) = [name for name in slurm.names() if name not in dvm.granted()][-1:]
    other = take(names=[name])
    job = dvm.start("prun", "--add-host", name, "-n", 1, "--host", name, "hostname")
    (queued,) = pending(dvm)
    wait_until(lambda: f"Slurm job {queued.id} waits in the queue: " in tide(dvm, "explain", "1").stdout,
               what="it is explained what the job waits for")
    other.cancel()
    ran = dvm.finish(job)
    assert (ran.returncode, ran.stdout) == (0, f"{name}\n"), ran.stderr


# ---- tools ----

# row:C1 row:C2 row:R3 row:R4 row:R15
def test_a_tool_hears_of_its_changes_exactly_once(slurm, make_slurm_dvm, tool):
    dvm = elastic(make_slurm_dvm, 2)
    first, me = dvm.granted(), tool(dvm)
    status, facts = me.ask("new", "new", "nodes=2", "req=mine")
    assert status == SUCCESS
    mine = facts["id"]
    assert heard(me, "mine") == (READY, {"id": mine, "req": "mine"})
    came = nodes_of(slurm, asked_for(dvm)[0])
    assert_shares(dvm, first, came)
    assert me.ask("more", "extend", f"id={mine}", "nodes=1", "req=longer")[0] == SUCCESS
    assert heard(me, "longer")[0] == READY
    third = nodes_of(slurm, asked_for(dvm)[1])
    assert me.ask("less", "release", f"list={came[0]}", "req=less")[0] == SUCCESS
    assert heard(me, "less")[0] == READY
    assert_shares(dvm, first, came[1:], third)
    assert me.ask("over", "release", f"id={mine}", "req=over")[0] == SUCCESS
    assert heard(me, "over")[0] == READY
    assert_shares(dvm, first)
    assert [facts.get("req") for _, facts in me.events()] == ["mine", "longer", "less", "over"]
    me.end()


# row:C1 row:C5
def test_a_request_of_a_tool_is_cancelled_in_the_queue(slurm, take, make_slurm_dvm, tool):
    dvm = elastic(make_slurm_dvm, 2)
    other, me = take(8), tool(dvm)
    me.order("more new nodes=1 req=mine")
    pending(dvm)
    assert me.ask("back", "cancel", "req=mine")[0] == SUCCESS
    assert not me.heard("more: ")[0].startswith("more: 0 ")
    none_pending(dvm)
    assert me.ask("again", "cancel", "req=mine")[0] == NOT_FOUND
    other.give_back()
    assert me.ask("later", "new", "nodes=1", "req=later")[0] == SUCCESS
    assert heard(me, "later")[0] == READY
    assert len(me.events()) == 1
    me.end()


# row:R12
def test_a_request_of_a_tool_that_dies_is_taken_back(slurm, take, make_slurm_dvm, tool):
    dvm = elastic(make_slurm_dvm, 2)
    other, me = take(8), tool(dvm)
    me.order("more new nodes=1 req=mine")
    pending(dvm)
    me.process.kill()
    none_pending(dvm)
    wait_until(lambda: not dvm.status()["asks"], what="the DVM does not wait for it")
    other.cancel()


# ---- what Slurm does by itself ----

# row:R14 row:R15 row:E12 row:C5
def test_a_job_of_a_grow_that_is_cancelled_is_a_shrink_that_nobody_asked_for(slurm, make_slurm_dvm, tool):
    dvm = elastic(make_slurm_dvm, 2)
    first, me = dvm.granted(), tool(dvm)
    assert me.ask("new", "new", "nodes=2", "req=mine")[0] == SUCCESS
    assert heard(me, "mine")[0] == READY
    (mine,) = asked_for(dvm)
    stays = dvm.start("prun", "-n", 2, "--host", ",".join(first), "--map-by", "node", "sleep", "1000")
    slurm.scancel(mine.id)
    wait_until(lambda: dvm.names() == first, limit_s=20, what="its nodes are gone")
    settled(dvm)
    told(dvm, f"Slurm job {mine.id} ")
    assert not happened(dvm, "node-lost"), "it is no loss"
    assert len(me.events()) == 1, "nobody asked for it"
    assert stays.poll() is None
    wait_until(lambda: not asked_for(dvm), limit_s=20, what="Slurm has them again")
    done(dvm, "grow", "--count", 8)
    assert len(nodes(dvm)) == 10
    me.end()


# row:E12 row:L17
@pytest.mark.limit(150)
def test_a_node_that_fails_leaves_and_comes_again_when_it_is_mended(slurm, make_slurm_dvm):
    """Slurm takes it from the job when it has noticed, half a minute later; the other nodes of the job stay."""
    dvm = elastic(make_slurm_dvm, 2, prtemca={"tide_heartbeat_timeout": "3s", "tide_heartbeat_interval": "500ms", "tide_suspect_grace": "1s"})
    done(dvm, "grow", "--count", 2)
    (child,) = asked_for(dvm)
    stays, fails = nodes_of(slurm, child)
    slurm.crash(fails, silent=True)
    wait_until(lambda: fails not in nodes(dvm), limit_s=20, what="it has left the DVM")
    told(dvm, fails)
    everywhere(dvm, nodes(dvm))
    wait_until(lambda: nodes_of(slurm, asked_for(dvm)[0]) == [stays], limit_s=70, what="Slurm has noticed")
    slurm.boot(fails)
    wait_until(lambda: slurm.node_states()[fails] == "idle", limit_s=60, what="it is back")
    done(dvm, "grow", "--host", fails)
    everywhere(dvm, nodes(dvm))


# row:S11 row:E12
def test_who_takes_a_node_with_all_that_runs_there_holds_up_nobody(slurm, make_slurm_dvm):
    """Slurm kills everything on it at once: no time that programs or daemons have is waited out."""
    dvm = elastic(make_slurm_dvm, 3, prtemca={"tide_release_grace": "10m", "tide_leave_timeout": "10m"})
    *stay, goes = dvm.granted()
    runs = dvm.start("prun", "-n", 3, "--map-by", "node", "sleep", "1000")
    wait_until(lambda: sum(node["processes"] for node in dvm.status()["nodes"]) == 3, limit_s=SEEN_LIMIT_S, what="it runs")
    control(slurm, dvm.job.id, f"NodeList={','.join(stay)}")
    wait_until(lambda: dvm.names() == stay, limit_s=SEEN_LIMIT_S, what=f"{goes} has left")
    assert dvm.finish(runs).returncode != 0
    settled(dvm)
    assert not happened(dvm, "node-lost")
    everywhere(dvm, stay)


# row:R21 row:C5
def test_nodes_that_slurm_adds_to_the_job_come_and_go_with_it(slurm_with_accounting, make_accounted_dvm):
    """By expanding it, as whoever owns it may; then it is made smaller again."""
    slurm, dvm = slurm_with_accounting, elastic(make_accounted_dvm, 2)
    first = dvm.granted()
    slurm.slurm("salloc", "--no-shell", "-N2", "-J", "more", f"--dependency=expand:{dvm.job.id}")
    (more,) = [job for job in slurm.squeue() if job.name == "more"]
    control(slurm, more.id, "NumNodes=0")
    wait_until(lambda: len(nodes(dvm)) == 4, limit_s=20, what="the DVM has what its job has")
    settled(dvm)
    assert dvm.names() == dvm.granted()
    everywhere(dvm, nodes(dvm))
    assert all(node["allocation"] is None or node["reservation"] is None for node in dvm.status()["nodes"])
    control(slurm, dvm.job.id, f"NodeList={','.join(first)}")
    wait_until(lambda: dvm.names() == first, limit_s=20, what="they are gone")
    settled(dvm)
    told(dvm, f"Slurm job {dvm.job.id} was made smaller")
    everywhere(dvm, first)


@pytest.mark.parametrize("how", ["batch", "salloc"])
def test_the_end_of_the_job_of_the_start_is_the_end_of_all(slurm, take, make_slurm_dvm, how):
    dvm = elastic(make_slurm_dvm, 2, how=how)
    done(dvm, "grow", "--count", 2)
    other = take(6)
    growing = dvm.start("tide", "grow", "--count", 1, "--wait")
    pending(dvm)
    dvm.abandon()
    dvm.job.cancel()
    dvm.job.wait_for(None)
    assert dvm.finish(growing).returncode != DONE
    other.cancel()


# ---- jobs that bring nodes along ----

def idle_beside(bed, names):
    return [name for name, state in bed.node_states().items() if state == "idle" and name not in names]


# row:E17 row:E18 row:R21
@pytest.mark.parametrize("mode", ["elastic", "not"])
def test_a_job_adds_hosts_and_starts_those_that_are_idle(slurm, make_slurm_dvm, mode):
    started = {"up_options": ["--host", "+n0,+n1"]}
    dvm = elastic(make_slurm_dvm, 3, **started) if mode == "elastic" else make_slurm_dvm(3, **started)
    first = dvm.granted()
    assert dvm.names() == first[:2]
    ran = dvm.tool("prun", "--activate", first[2], "-n", 1, "--host", first[2], "hostname")
    assert (ran.returncode, ran.stdout) == (0, f"{first[2]}\n"), ran.stderr
    assert dvm.names() == first and not asked_for(dvm)
    wait_until(lambda: len(idle_beside(slurm, first)) > 1, limit_s=30, what="other nodes are free")
    added, stranger = idle_beside(slurm, first)[:2]
    ran = dvm.tool("prun", "--add-host", added, "-n", 1, "--host", added, "hostname")
    assert (ran.returncode, ran.stdout) == (0, f"{added}\n"), ran.stderr
    assert_shares(dvm, first, [added])
    refused = dvm.tool("prun", "--activate", stranger, "true")
    assert refused.returncode != 0 and f"'{stranger}' is no node of the DVM's Slurm jobs" in refused.stderr, refused.stderr
