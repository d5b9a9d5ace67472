"""A DVM that starts in the job of a scheduler: its nodes are those of the job. The schedulers are stand-ins: what they
leave in the environment, in files, and a `flux` that prints what Flux would."""

import json

import pytest

from dvm import Dvm
from machines import Machines, write_program

NAMES = ["alpha", "beta", "gamma"]
WHERE = ("sh", "-c", "echo $TIDE_NODE")
RESOURCES = json.dumps({"version": 1, "execution": {
    "R_lite": [{"rank": "0,2", "children": {"core": "0-1"}}, {"rank": "1", "children": {"core": "0-2"}}],
    "starttime": 0, "expiration": 0, "nodelist": ["alpha,beta", "gamma"]}})


class Place(Dvm):
    """Here jobs of schedulers begin: a DVM, if one is started, is up to the test. alpha and gamma have two slots in
    each job, beta has three."""

    def __init__(self, agent):
        super().__init__(nodes=1, env={"PRTE_MCA_plm": "ssh", "PRTE_MCA_plm_ssh_agent": str(agent)})

    def file(self, name, text):
        (self.tmpdir / name).write_text(text)
        return str(self.tmpdir / name)

    def pbs(self):
        return {"PBS_JOBID": "17.srv", "PBS_NODEFILE": self.file("nodes", "alpha\nbeta\nbeta\ngamma\ngamma\nbeta\nalpha\n")}

    def pals(self):
        return {**self.pbs(), "PALS_APID": "c0ffee", "PALS_NODEID": "0"}

    def lsf(self):
        return {"LSB_JOBID": "17", "LSB_MCPU_HOSTS": "alpha 2 beta 3 gamma 2 "}

    def gridengine(self):
        hosts = "alpha 2 all.q@alpha UNDEFINED\nbeta 3 all.q@beta UNDEFINED\ngamma 2 all.q@gamma UNDEFINED\n"
        return {"JOB_ID": "17", "SGE_ROOT": "/opt/sge", "PE_HOSTFILE": self.file("pe_hosts", hosts)}

    def flux(self, script=f"""
            [ "$*" = "resource R -s up" ] || {{ echo "what is $*?" >&2; exit 2; }}
            echo '{RESOURCES}'"""):
        (self.tmpdir / "bin").mkdir(exist_ok=True)
        write_program(self.tmpdir / "bin" / "flux", script)
        return {"FLUX_URI": "local:///run/flux/local", "PATH": f"{self.tmpdir}/bin:{self.env['PATH']}"}

    def slurm(self):
        return {"SLURM_JOB_ID": "17", "SLURM_JOB_NODELIST": "alpha,beta,gamma", "SLURM_JOB_CPUS_PER_NODE": "2,3,2",
                "SLURM_TASKS_PER_NODE": "1(x3)"}

    def enter(self, manager):
        """From now on all commands run in a job of that scheduler."""
        self.env.update(getattr(self, manager)())
        return self

    def slots(self):
        return {node["name"]: node["slots"] for node in self.status()["nodes"]}


@pytest.fixture
def machines():
    with Machines(*NAMES) as these:
        yield these
        these.assert_nothing_left()


@pytest.fixture
def place(machines):
    """A private place in which no DVM runs, before and after."""
    dvm = Place(machines.agent)
    try:
        yield dvm
        dvm.tool("tide", "down", "--all")
        machines.assert_nothing_left()
        assert not dvm.processes()
    finally:
        dvm.close()


def up(place, *options):
    done = place.tool("tide", "up", *options)
    assert done.returncode == 0, done.stderr
    return place.slots()


MANAGERS = ["slurm", "pbs", "pals", "lsf", "gridengine", "flux"]
JOBS = {"slurm": "Slurm job 17", "pbs": "PBS job 17.srv", "pals": "PALS job 17.srv", "lsf": "LSF job 17",
        "gridengine": "Grid Engine job 17", "flux": "the Flux job"}
# Those whose nodes are reached as any others are.
REACHED = [manager for manager in MANAGERS if manager != "slurm"]


# ---- what the job has ----

# row:L7
@pytest.mark.user
@pytest.mark.parametrize("manager", REACHED)
def test_nodes_and_slots_are_those_of_the_job(place, manager):
    assert up(place.enter(manager), "--set-slots", "7", "--slots", "9") == {"alpha": 2, "beta": 3, "gamma": 2}
    done = place.run(*WHERE)
    assert done.returncode == 0 and sorted(done.stdout.split()) == ["alpha"] * 2 + ["beta"] * 3 + ["gamma"] * 2


@pytest.mark.user
@pytest.mark.parametrize("manager", MANAGERS)
def test_hosts_are_chosen_among_those_of_the_job_only(place, manager):
    place.enter(manager)
    for command in (("prte", "--daemonize"), ("tide", "up"), ("tide", "check")):
        done = place.tool(*command, "--host", "delta")
        assert done.returncode == 2 and not done.stdout
        assert f"--host, column 1: 'delta' is not in {JOBS[manager]}, which has alpha, beta, gamma\n" in done.stderr
        assert done.stderr.count("try: ") == 1


@pytest.mark.user
def test_a_choice_has_no_more_than_the_job(place):
    place.enter("pbs")
    assert up(place, "--host", "beta.cluster:8,+n2:1") == {"beta": 3, "gamma": 1}
    place.tool("tide", "down")
    chosen = place.file("chosen", "gamma slots=1\nalpha\n")
    assert up(place, "--hostfile", chosen, "--host", "^alpha") == {"gamma": 1}


@pytest.mark.user
def test_a_private_dvm_has_the_nodes_of_the_job(place):
    place.enter("lsf")
    done = place.tool("prterun", *WHERE)
    assert done.returncode == 0 and sorted(done.stdout.split()) == ["alpha"] * 2 + ["beta"] * 3 + ["gamma"] * 2
    done = place.tool("prterun", "--host", "+n1", "-n", "1", *WHERE)
    assert done.returncode == 0 and done.stdout.split() == ["beta"], done.stderr


@pytest.mark.user
def test_a_check_looks_at_the_nodes_of_the_job(place):
    done = place.enter("gridengine").tool("tide", "check", "--json")
    assert done.returncode == 0, done.stderr
    assert [host["name"] for host in json.loads(done.stdout)["hosts"]] == NAMES
    done = place.tool("tide", "check", "--prtemca", "ras", "none")
    assert done.returncode == 2 and "a check needs hosts" in done.stderr


@pytest.mark.user
def test_no_more_nodes_than_wanted(place):
    assert up(place.enter("pbs"), "--max-vm-size", "2") == {"alpha": 2, "beta": 3}


# ---- what the job does not decide ----

@pytest.mark.user
@pytest.mark.parametrize("options", [("--nodes", "2"), ("--nodes", "2", "--prtemca", "ras", "pbs"),
                                     ("--nodes", "2", "--elastic", "--pool", "1")], ids=["auto", "named", "pool"])
def test_nodes_of_this_machine_are_there_for_who_wants_them(place, options):
    assert list(up(place.enter("pbs"), *options)) == ["v1", "v2"]


@pytest.mark.user
def test_a_job_may_be_left_aside(place):
    place.enter("pbs").env["PBS_NODEFILE"] = "/no/such/file"
    assert list(up(place, "--prtemca", "ras", "none")) == ["v1"]
    place.tool("tide", "down")
    assert up(place, "--prtemca", "ras", "none", "--host", "gamma:4") == {"gamma": 4}


@pytest.mark.user
def test_the_innermost_job_counts_and_another_can_be_named(place):
    outer = place.file("outer", "alpha\n")
    place.enter("flux").env.update(PBS_JOBID="17.srv", PBS_NODEFILE=outer)
    assert up(place) == {"alpha": 2, "beta": 3, "gamma": 2}
    place.tool("tide", "down")
    assert up(place, "--prtemca", "ras", "pbs") == {"alpha": 1}


# ---- what is refused ----

@pytest.mark.user
@pytest.mark.parametrize("manager, changed, said", [
    ("slurm", {"SLURM_JOB_CPUS_PER_NODE": "2(x2)"},
     "the nodes of Slurm job 17 can't be told: SLURM_JOB_NODELIST has 3 nodes, and SLURM_JOB_CPUS_PER_NODE has numbers for 2"),
    ("slurm", {"SLURM_JOB_NODELIST": "a,--wrap=id"}, "SLURM_JOB_NODELIST, column 3: '--wrap=id' begins with '-'"),
    ("slurm", {"SLURM_JOB_NODELIST": "n[1-"}, "SLURM_JOB_NODELIST, column 2: '[1-' has a '[' without its ']'"),
    ("pbs", {"PBS_NODEFILE": "/no/such"}, "PBS_NODEFILE: '/no/such' can't be read: No such file or directory"),
    ("pbs", {"PBS_NODEFILE": "/dev/zero"}, "PBS_NODEFILE: '/dev/zero' can't be read"),
    ("lsf", {"LSB_MCPU_HOSTS": "a 4 b"}, "LSB_MCPU_HOSTS, column 6: '' is no number of slots"),
    ("lsf", {"LSB_MCPU_HOSTS": "$(id) 4"}, "LSB_MCPU_HOSTS, column 1: '$(id)'"),
    ("gridengine", {"PE_HOSTFILE": ""}, None)],
    ids=["counts", "option", "bracket", "missing", "endless", "slots", "shell", "no-list"])
def test_a_broken_list_is_told_before_anything_starts(place, manager, changed, said):
    place.enter(manager).env.update(changed)
    done = place.tool("tide", "up", "--prtemca", "ras", manager)
    said = said or "the parameter ras wants Grid Engine, and this is no job of it: PE_HOSTFILE is not set"
    assert done.returncode == 1 and said in done.stderr and "\n  try: " in done.stderr, done.stderr
    assert not place.processes()


@pytest.mark.user
@pytest.mark.parametrize("script, said", [
    ("echo 'flux-resource: ERROR: no broker' >&2; exit 1",
     "'flux resource R -s up' failed with status 1: flux-resource: ERROR: no broker"),
    ("echo 'STATE NNODES'", "what 'flux resource R -s up' prints has no R_lite"),
    ("exec yes", "prints more than 16777216 bytes")], ids=["fails", "other", "endless"])
def test_a_flux_that_makes_no_sense(place, script, said):
    place.env.update(place.flux(script))
    done = place.tool("tide", "up")
    assert done.returncode == 1 and done.stderr.startswith("prte: the nodes of the Flux job can't be told: "), done.stderr
    assert said in done.stderr and "\n  try: " in done.stderr


@pytest.mark.user
@pytest.mark.parametrize("options, said", [
    (("--pool", "2"), "--pool is for a DVM that gets its nodes from nobody else"),
    (("--pool-hostfile", "more"), "--pool-hostfile is for a DVM that gets its nodes from nobody else"),
    (("--prtemca", "ras", "slurm"), "the parameter ras wants Slurm, and this is no job of it: SLURM_JOB_ID is not set"),
    (("--prtemca", "ras", "slrm"), "did you mean 'slurm'?")], ids=["pool", "pool-hostfile", "other", "unknown"])
def test_what_does_not_go_with_a_job(place, options, said):
    place.file("more", "delta\n")
    done = place.enter("pbs").tool("tide", "up", "--elastic", *options)
    assert done.returncode in (1, 2) and said in done.stderr, done.stderr
