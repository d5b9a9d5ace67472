"""Machines fail in the middle of a change of size, in each of its phases: the outcome is the one that is promised, it is told
once, the DVM is well afterwards, and nothing is left on any machine. Some cases by a seed; all of them with --long."""

import os
import signal

import pytest

from asking import FAILED, READY, SUCCESS
from dvm import wait_until
from growing import DONE, begin, in_phase, kinds, release
from load import check_tree
from storm_plan import COMING, COSTLY, FIRST, LEAVING, Case, all_cases, some_cases
from storm_seed import SEED
from swarm_dvm import ALONE_S, FAST, MARGIN_S, SILENCE_S, everywhere
from swarm_growing import ask_as_a_tool, seen_on

CASES_IN_SHORT = 7
RADIX = 2
CHANGE_LIMIT_S = 40
HELD_BACK, NOT_LAUNCHED = "PRTE_JOB_STATE_WAITING_FOR_DAEMONS", 122
QUICK = {**FAST, "rml_radix": RADIX, "tide_grow_timeout": "20s", "tide_leave_timeout": "4s", "tide_release_grace": "4s",
         "tide_kill_grace": "1s"}

# What holds a phase open. A failpoint is released then. A daemon that does not end is killed. Nobody is wired as long as the
# one that is to be lost hears nothing; where nobody is, as long as one of the old ones stands still, which must not be taken for
# dead meanwhile.
HOLDS = {
    "starting": "action.launch_daemons/head@2:hold",
    "rolling-back": "action.exit/node16:hold",
    "processes": "action.signal_proc/node12:hold",
    "departing": "action.exit/node4:hold",
    "returning": "action.return_nodes:hold",
}
RELEASED = ("starting", "processes", "returning")
ENDLESS = {"rolling-back": "node16", "departing": "node4"}
STANDS_STILL, UNNOTICED = "node10", {"tide_heartbeat_timeout": "6s"}
LONGER_S = 3


def parameters(case):
    if case.phase == "wiring":
        return {"tide_failpoint": f"event.message_in/{case.victim}:hold"} if loses_its_own(case) else UNNOTICED
    return {"tide_failpoint": HOLDS[case.phase]}


def loses_its_own(case):
    return case.place == "target" and case.fault in COSTLY


class Command:
    """Asks for the change, and says how it ended."""

    def __init__(self, dvm):
        self._dvm = dvm

    def begin(self, change, hosts):
        self._change = begin(self._dvm, change, "--host", ",".join(hosts))

    def ends(self, outcome):
        said = self._dvm.finish(self._change, limit_s=CHANGE_LIMIT_S)
        assert said.returncode == outcome, (said.returncode, said.stdout, said.stderr)

    def goes(self):
        """It has gone when it has said it."""


class Tool:
    """Asks for the change by PMIx, and is told by one event how it ended."""

    def __init__(self, dvm):
        self._asker = ask_as_a_tool(dvm)

    def begin(self, change, hosts):
        words = ["new", "share=true"] if change == "grow" else ["release"]
        status, self._facts = self._asker.ask("storm", *words, f"list={','.join(hosts)}", "req=storm")
        assert status == SUCCESS and self._facts["id"], (status, self._facts)

    def ends(self, outcome):
        wait_until(self._asker.events, limit_s=CHANGE_LIMIT_S, what="it is told of the end")
        code, facts = self._asker.event()
        assert (code, facts["id"], facts["req"]) == (READY if outcome == DONE else FAILED, self._facts["id"], "storm")
        assert ("cause" in facts) == (code == FAILED), facts

    def goes(self):
        self._asker.end()
        assert len(self._asker.events()) == 1, self._asker.events()


class Storm:
    def __init__(self, bed, make_elastic, case, kind_of_asker=Command):
        self._bed, self._case = bed, case
        self._dvm = make_elastic(FIRST, seen=16, prtemca={**QUICK, **parameters(case)})
        self._asker = kind_of_asker(self._dvm)
        self._job = self._parked = None

    def play(self):
        self._begin()
        in_phase(self._dvm, self._case.phase)
        if self._case.phase not in ("rolling-back", "returning"):  # there the fence is down
            self._submit()
        self._strike()
        self._let_go()
        self._check_outcome()
        self._check_health()
        self._check_machines()
        self._asker.goes()

    def _begin(self):
        """The change, up to where it is held."""
        if self._case.phase == "wiring" and not loses_its_own(self._case):
            self._signal_daemon(STANDS_STILL, signal.SIGSTOP)
        if self._case.change == "grow":
            fails = ["nowhere"] if self._case.phase == "rolling-back" else []
            self._asker.begin("grow", COMING + fails)
            return
        if self._case.phase == "processes":
            self._job = self._dvm.start("prun", "-n", 2, "--host", ",".join(LEAVING), "--map-by", "node", "sh", "-c",
                                        "echo up; exec sleep 1000")
            assert [self._job.stdout.readline() for _ in LEAVING] == ["up\n"] * len(LEAVING)
        self._asker.begin("shrink", LEAVING)

    def _submit(self):
        self._parked = self._dvm.start("prun", "-n", 1, "--host", "node2", "hostname")
        wait_until(lambda: [row for row in self._dvm.jobs()["jobs"] if row["state"] == HELD_BACK], what="the job is held")

    def _strike(self):
        bed, victim = self._bed, self._case.victim
        if self._case.fault == "slow":
            bed("slow", victim, "--delay", "30ms", "--rate", "20mbit")
        else:
            {"crash": bed.crash, "silent": lambda name: bed.crash(name, silent=True), "freeze": bed.freeze, "cut": bed.cut,
             "refuse": bed.refuse}[self._case.fault](victim)

    def _let_go(self):
        """What is held goes on, unless the fault stands in the way."""
        phase, stroke = self._case.phase, (self._case.victim, self._case.fault)
        if phase in RELEASED:
            release(self._dvm, HOLDS[phase].partition("/")[0].partition(":")[0])
        elif phase == "wiring":
            self._signal_daemon(STANDS_STILL, signal.SIGCONT)
        elif stroke not in ((ENDLESS[phase], "freeze"), (ENDLESS[phase], "cut")):
            self._signal_daemon(ENDLESS[phase], signal.SIGKILL)

    def _signal_daemon(self, name, number):
        for (_, pid), words in self._bed.processes([name]).items():
            if " --node " in words:
                os.kill(pid, number)

    # ---- what must be ----

    def _check_outcome(self):
        case = self._case
        self._asker.ends(case.outcome)
        told = [kind for kind in kinds(self._dvm, "grow-", "shrink-") if not kind.endswith("-begun")]
        assert told == case.events, told
        if self._parked:
            ran = self._dvm.finish(self._parked)
            expected = (0, "node2\n") if case.outcome == 0 else (NOT_LAUNCHED, "")
            assert (ran.returncode, ran.stdout) == expected, (ran.returncode, ran.stdout, ran.stderr)
        if self._job:
            assert "released" in self._dvm.finish(self._job).stderr or case.victim in LEAVING

    def _check_health(self):
        names = self._case.nodes(self._dvm.first)
        self._dvm.wait_for_nodes(names, limit_s=SILENCE_S + LONGER_S + MARGIN_S)
        wait_until(lambda: {node["state"] for node in self._dvm.status()["nodes"]} == {"up"}, what="all nodes are up")
        assert not self._dvm.status()["campaigns"]
        everywhere(self._dvm, names)
        check_tree(self._dvm.status(), RADIX)

    def _check_machines(self):
        """On those that are not in it nothing is left of the DVM, once what was in their way is over."""
        case, bed = self._case, self._bed
        if case.fault == "freeze":
            bed.thaw(case.victim)
        elif case.fault in ("cut", "slow"):
            bed.heal(case.victim)
        if case.phase in ENDLESS:
            self._signal_daemon(ENDLESS[case.phase], signal.SIGKILL)
        out = set(self._dvm.first + COMING) - set(case.nodes(self._dvm.first))
        out -= {case.victim} if case.fault in ("crash", "silent") else set()  # nobody was there to remove anything
        seen = []

        def nothing():
            seen[:] = seen_on(self._dvm, sorted(out))
            return not seen

        try:
            wait_until(nothing, limit_s=ALONE_S + 2 * LONGER_S + MARGIN_S)
        except AssertionError:
            raise AssertionError(f"left on machines that are not in the DVM: {seen}") from None


# row:E5 row:E8 row:E12 row:S5 row:S8 row:S11 row:C3
@pytest.mark.limit(120)
@pytest.mark.parametrize("number", range(CASES_IN_SHORT))
def test_some_faults_in_the_middle_of_a_change(bed, make_elastic, number):
    """The first is begun by a PMIx tool, all others by a command."""
    case = some_cases(SEED, CASES_IN_SHORT)[number]
    print(f"{case}; seed {SEED}")
    Storm(bed, make_elastic, case, Command if number else Tool).play()


# row:E5 row:E8 row:E12 row:S8 row:S11
@pytest.mark.long
@pytest.mark.limit(120)
@pytest.mark.parametrize("case", all_cases(), ids=str)
def test_every_fault_in_the_middle_of_a_change(bed, make_elastic, case):
    Storm(bed, make_elastic, Case(*case)).play()


def test_a_choice_has_every_fault_and_every_phase():
    for seed in range(20):
        chosen = some_cases(seed, CASES_IN_SHORT)
        assert len(set(chosen)) == CASES_IN_SHORT and chosen == some_cases(seed, CASES_IN_SHORT)
        assert len({case.fault for case in chosen}) == len({case.phase for case in chosen}) == 6
        assert {case.place for case in chosen} == {"target", "bystander", "relay"}
