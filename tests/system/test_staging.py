"""Files that a job brings to its nodes: --preload-files, --preload-binary, and what is left of them."""

import hashlib
import io
import os
import re
import resource
import signal
import tarfile
from pathlib import Path

import pytest

from dvm import Dvm, is_alive, wait_until
from jobs import last_job

LARGE_BYTES = 64 << 20
# What is under way is 2 MiB and what waits for an acknowledgement 8; the rest is for the allocator.
GROWTH_LIMIT_KIB = 32 * 1024
HOLD = {"tide_failpoint": "action.stage_file:hold", "state_base_verbose": 1}
FILES_FAILED = 123


@pytest.fixture(scope="module")
def staging_dvm():
    """Four nodes in a row: what reaches v4 has passed v1, v2 or v3."""
    dvm = Dvm(nodes=4, slots=1, prtemca={"rml_radix": 2, "state_base_verbose": 1})
    try:
        yield dvm.up()
    finally:
        dvm.close()


def staged(dvm):
    """Whatever lies in the daemons' directories for files."""
    return [str(path) for path in dvm.run_directory().glob("files.*/*")]


def write(dvm, name, text, mode=0o644):
    path = dvm.tmpdir / "mine" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    path.chmod(mode)
    return path


def prun(dvm, *argv, **options):
    """In the folder that write() writes to."""
    return dvm.tool("prun", *argv, cwd=dvm.tmpdir / "mine", **options)


# row:L3
def test_program_that_only_the_client_has_runs_on_all_nodes(staging_dvm):
    write(staging_dvm, "only-here.sh", "#!/bin/sh\necho \"$0 in $(pwd) on $TIDE_NODE\"\n", 0o755)
    hidden = staging_dvm.tmpdir / "mine" / "only-here.sh"
    done = prun(staging_dvm, "-n", "4", "-s", "./only-here.sh")
    assert (done.returncode, done.stderr) == (0, "")
    lines = [re.fullmatch(r"(\S+)/only-here\.sh in (\S+) on (v\d)", line).groups() for line in done.stdout.splitlines()]
    assert sorted(node for _, _, node in lines) == ["v1", "v2", "v3", "v4"]
    assert len({folder for folder, _, _ in lines}) == 4
    assert all(folder == cwd and not hidden.is_relative_to(folder) for folder, cwd, _ in lines)
    assert staged(staging_dvm) == []


# row:L3
def test_files_are_staged_between_vm_ready_and_map(staging_dvm):
    write(staging_dvm, "a.dat", "a")
    write(staging_dvm, "b.dat", "b")
    done = prun(staging_dvm, "-n", "1", "--preload-files", "a.dat,b.dat", "true")
    assert done.returncode == 0, done.stderr
    job = last_job(staging_dvm)
    wait_until(lambda: "NOTIFIED" in staging_dvm.transitions(job), what="its end is logged")
    assert re.search(rf"@{job}: PRTE_JOB_STATE_VM_READY -> PRTE_JOB_STATE_MAP \(2 files on 4 nodes\)",
                     staging_dvm.log_text())


# row:L3
def test_subdirectories_and_modes_are_kept(staging_dvm):
    write(staging_dvm, "in.dat", "first")
    write(staging_dvm, "data/a/b.dat", "second", 0o600)
    write(staging_dvm, "data/run.sh", "#!/bin/sh\necho ran\n", 0o755)
    absolute = write(staging_dvm, "deep/down/c.dat", "third")
    done = prun(staging_dvm, "-n", "4", "--set-cwd-to-session-dir", "--preload-files",
                f"in.dat,data/a/b.dat,./data/run.sh,{absolute}", "sh", "-c",
                '[ "$(pwd)" = "$TIDE_JOB_DIR" ] && echo '
                '$(cat in.dat data/a/b.dat c.dat; data/run.sh; stat -c %a data/a/b.dat)')
    assert (done.returncode, done.stdout, done.stderr) == (0, "firstsecondthirdran 600\n" * 4, "")


def test_without_the_option_processes_start_where_the_client_is(staging_dvm):
    write(staging_dvm, "in.dat", "text")
    done = prun(staging_dvm, "-n", "1", "--preload-files", "in.dat", "sh", "-c", 'pwd; cat "$TIDE_JOB_DIR/in.dat"')
    assert done.stdout == f"{staging_dvm.tmpdir}/mine\ntext"


def test_directory_of_its_own_without_files(staging_dvm):
    done = staging_dvm.tool("prun", "-n", "4", "--set-cwd-to-session-dir", "sh", "-c",
                            '[ "$(pwd)" = "$TIDE_JOB_DIR" ] && ls -a | wc -l && mkdir -p x/y && echo left > x/y/z')
    assert (done.returncode, done.stdout.split()) == (0, ["2"] * 4), done.stderr
    assert staged(staging_dvm) == []


@pytest.mark.parametrize("suffix, how", [(".tar", "w"), (".tar.gz", "w:gz"), (".tgz", "w:gz"), (".tar.bz2", "w:bz2"),
                                         (".tar.xz", "w:xz")])
def test_archives_are_unpacked_where_they_land(staging_dvm, suffix, how):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=how) as archive:
        for name, text, mode in (("top.txt", b"top", 0o644), ("bin/tool", b"#!/bin/sh\necho tool\n", 0o755)):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(text), mode
            archive.addfile(entry, io.BytesIO(text))
    write(staging_dvm, f"sub/pack{suffix}", packed.getvalue())
    done = prun(staging_dvm, "-n", "4", "--set-cwd-to-session-dir", "--preload-files", f"sub/pack{suffix}",
                "sh", "-c", "echo $(cat sub/top.txt; sub/bin/tool)")
    assert (done.returncode, done.stdout, done.stderr) == (0, "toptool\n" * 4, "")


# row:L17
def test_archive_that_leads_out_fails_the_job(staging_dvm):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        entry = tarfile.TarInfo("../../escaped")
        entry.size = 1
        archive.addfile(entry, io.BytesIO(b"x"))
    write(staging_dvm, "evil.tar", packed.getvalue())
    done = prun(staging_dvm, "-n", "4", "--preload-files", "evil.tar", "true")
    assert done.returncode == FILES_FAILED
    assert re.search(r"file 'evil\.tar' was not staged on node v\d: .*'\.\./\.\./escaped' in it leads out", done.stderr)
    assert not list(staging_dvm.tmpdir.rglob("escaped"))
    assert staged(staging_dvm) == []


@pytest.mark.parametrize("name", ["../other.dat", "data/../../other.dat"])
def test_name_that_leads_out_is_refused(staging_dvm, name):
    write(staging_dvm, "in.dat", "x")
    jobs = len(staging_dvm.jobs("--all")["jobs"])
    done = prun(staging_dvm, "-n", "1", "--preload-files", f"in.dat,{name}", "true")
    assert done.returncode not in (0, FILES_FAILED)
    assert f"'{name}' leads out of the job's directory" in done.stderr
    assert len(staging_dvm.jobs("--all")["jobs"]) == jobs


# row:L17
def test_other_file_of_the_same_name_is_not_overwritten(staging_dvm):
    write(staging_dvm, "x.dat", "one")
    other = write(staging_dvm, "other/x.dat", "two")
    done = prun(staging_dvm, "-n", "1", "--preload-files", f"x.dat,{other}", "true")
    assert done.returncode == FILES_FAILED
    assert re.search(r"file 'x\.dat' was not staged on node v\d: another file of this name", done.stderr)
    job = last_job(staging_dvm)
    wait_until(lambda: "NOTIFIED" in staging_dvm.transitions(job), what="its end is logged")
    assert staging_dvm.transitions(job)[-5:] == ["DAEMONS_REPORTED", "VM_READY", "FILES_POSN_FAILED",
                                                 "NOTIFY_COMPLETED", "NOTIFIED"]
    assert staged(staging_dvm) == []
    same = write(staging_dvm, "other/x.dat", "one")
    assert prun(staging_dvm, "-n", "1", "--preload-files", f"x.dat,{same}", "true").returncode == 0


def peak_kib(pid):
    return int(re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1])


def stage_large_file(dvm):
    data = os.urandom(1 << 20) * (LARGE_BYTES >> 20)
    write(dvm, "large.dat", data)
    done = prun(dvm, "-n", "4", "--preload-files", "large.dat", "sh", "-c",
                'sha256sum < "$TIDE_JOB_DIR/large.dat"', limit_s=90)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{hashlib.sha256(data).hexdigest()}  -\n" * 4
    assert staged(dvm) == []


@pytest.mark.limit(120)
def test_large_file_arrives_whole(staging_dvm):
    stage_large_file(staging_dvm)


@pytest.mark.noasan("freed memory is kept there")
@pytest.mark.limit(120)
def test_large_file_costs_no_memory(staging_dvm):
    pids = {"head": staging_dvm.head_pid(), **staging_dvm.daemon_pids()}
    before = {name: peak_kib(pid) for name, pid in pids.items()}
    stage_large_file(staging_dvm)
    grown = {name: peak_kib(pid) - before[name] for name, pid in pids.items()}
    assert all(kib < GROWTH_LIMIT_KIB for kib in grown.values()), grown


# row:L17
def test_files_go_with_a_job_that_finds_no_place(staging_dvm):
    write(staging_dvm, "in.dat", "x")
    done = prun(staging_dvm, "-n", "9", "--preload-files", "in.dat", "true")
    assert done.returncode == 125
    assert staged(staging_dvm) == []


def test_only_the_chosen_nodes_get_them(staging_dvm):
    write(staging_dvm, "in.dat", "x")
    done = prun(staging_dvm, "-n", "2", "--host", "v2,v3", "--preload-files", "in.dat", "sh", "-c", "echo $TIDE_NODE")
    assert sorted(done.stdout.split()) == ["v2", "v3"]
    wait_until(lambda: "(1 file on 2 nodes)" in staging_dvm.log_text(), what="the head logs it")


def test_files_of_a_killed_job_go(staging_dvm):
    write(staging_dvm, "in.dat", "x")
    job = staging_dvm.start("prun", "-n", "4", "--preload-files", staging_dvm.tmpdir / "mine/in.dat",
                            "sh", "-c", "echo up; exec sleep 1000")
    for _ in range(4):
        assert job.stdout.readline() == "up\n"
    assert len(staged(staging_dvm)) == 4
    job.send_signal(signal.SIGINT)
    staging_dvm.finish(job)
    assert staged(staging_dvm) == []


# row:L17
def test_daemon_lost_during_staging(make_dvm):
    dvm = make_dvm(nodes=4, slots=1, prtemca=HOLD)
    write(dvm, "in.dat", "x")
    job = dvm.start("prun", "-n", "3", "--preload-files", dvm.tmpdir / "mine/in.dat", "sh", "-c", "echo $TIDE_NODE")
    wait_until(lambda: "VM_READY" in dvm.transitions(1), what="the job stages")
    dvm.kill_daemon("v3")
    wait_until(lambda: "v3" not in dvm.daemon_pids(), what="v3 is given up")
    assert "MAP" not in dvm.transitions(1)
    assert dvm.tool("tide", "debug", "release", "action.stage_file").returncode == 0
    done = dvm.finish(job)
    assert (done.returncode, sorted(done.stdout.split())) == (0, ["v1", "v2", "v4"]), done.stderr
    assert staged(dvm) == []


def test_daemon_lost_with_files_on_it(make_dvm):
    """Its warden removes what it can't remove any more."""
    dvm = make_dvm(nodes=2, slots=1)
    write(dvm, "in.dat", "x")
    job = dvm.start("prun", "-n", "2", "--preload-files", dvm.tmpdir / "mine/in.dat", "sh", "-c", "echo; exec sleep 1000")
    job.stdout.readline()
    job.stdout.readline()
    dvm.kill_daemon("v2")
    assert dvm.finish(job).returncode == 120
    wait_until(lambda: not staged(dvm), what="its files are gone")


# row:L17
def test_client_killed_during_staging(make_dvm):
    dvm = make_dvm(nodes=4, slots=1, prtemca=HOLD)
    write(dvm, "in.dat", os.urandom(1 << 20))
    job = dvm.start("prun", "-n", "4", "--preload-files", dvm.tmpdir / "mine/in.dat", "true")
    wait_until(lambda: "VM_READY" in dvm.transitions(1), what="the job stages")
    job.kill()
    wait_until(lambda: "KILLED_BY_CMD" in dvm.transitions(1), what="the head has heard")
    assert dvm.tool("tide", "debug", "release", "action.stage_file").returncode == 0
    wait_until(lambda: "NOTIFIED" in dvm.transitions(1), what="the job ends")
    assert staged(dvm) == []
    assert all(is_alive(pid) for pid in dvm.daemon_pids().values())


# row:L17
def test_write_that_fails_names_node_and_file(make_dvm):
    dvm = make_dvm(nodes=2, slots=1, prtemca={"tide_failpoint": "action.stage_file:fail"})
    write(dvm, "in.dat", "x")
    done = prun(dvm, "-n", "2", "--preload-files", "in.dat", "true")
    assert done.returncode == FILES_FAILED
    assert re.search(r"file 'in\.dat' was not staged on node v[12]: failpoint", done.stderr)
    assert [row["state"] for row in dvm.jobs("--all")["jobs"]] == ["PRTE_JOB_STATE_FILES_POSN_FAILED"]
    assert staged(dvm) == []


def test_nodes_that_do_not_go_on_are_named(make_dvm):
    dvm = make_dvm(nodes=2, slots=1, prtemca={**HOLD, "tide_stage_timeout": "300ms"})
    write(dvm, "in.dat", "x")
    done = prun(dvm, "-n", "2", "--preload-files", "in.dat", "true")
    assert done.returncode == FILES_FAILED
    assert "node v1 does not go on" in done.stderr
    assert dvm.tool("tide", "debug", "release", "action.stage_file").returncode == 0
    wait_until(lambda: not staged(dvm), what="its files are gone")


def test_one_shot_run_brings_its_program(tmp_path, make_dvm):
    dvm = make_dvm(nodes=1)
    write(dvm, "mine.sh", "#!/bin/sh\necho mine\n", 0o755)
    done = dvm.tool("prterun", "--nodes", "2", "-n", "2", "--map-by", "node", "--preload-binary",
                    dvm.tmpdir / "mine/mine.sh")
    assert (done.returncode, done.stdout, done.stderr) == (0, "mine\nmine\n", "")


# ---- what is not as it should be ----

def test_a_limit_of_file_sizes_costs_a_job_and_no_node(make_dvm):
    dvm = make_dvm(nodes=2, slots=1)
    write(dvm, "large.dat", os.urandom(3 << 20))
    for pid in dvm.daemon_pids().values():
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    done = prun(dvm, "-n", "1", "--host", "v1", "--preload-files", "large.dat", "true")
    assert done.returncode == FILES_FAILED and "'large.dat' was not staged on node v1: File too large" in done.stderr
    assert prun(dvm, "-n", "2", "true").returncode == 0


@pytest.mark.user
def test_a_job_that_shuts_itself_out_of_its_directory_leaves_nothing(make_dvm):
    dvm = make_dvm(nodes=1, slots=1)
    for mode in ("000", "500"):
        done = dvm.tool("prun", "-n", "1", "--set-cwd-to-session-dir", "sh", "-c", f"touch a; chmod {mode} .")
        assert done.returncode == 0, done.stderr
        assert staged(dvm) == []
