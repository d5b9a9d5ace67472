"""One node: its namespaces, its file systems, its sshd, and its first process."""

import os
import pwd
import signal
import socket
from pathlib import Path

from swarmlib import kernel
from swarmlib.kernel import CLONE_NEWIPC, CLONE_NEWNET, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWUTS, command
from swarmlib.network import NETNS_FOLDER

SSHD = "/usr/sbin/sshd"
READY = b"ready"
# "$0" a cgroup, or nothing; then the command
JOIN_CGROUP = 'test -z "$0" || echo 0 > "$0/cgroup.procs"; exec "$@"'
# "$1" the working directory, which need not be there in the node
GO_TO = 'cd "$1" 2>/dev/null || cd /; shift; exec "$@"'


def home():
    return pwd.getpwuid(os.getuid()).pw_dir


def start(name, place, shared, cgroup, slurm):
    """Forks the first process of a node. (its process number, a pipe that says READY or what went wrong)"""
    told, tells = os.pipe()
    # The next child is the first process of a new table; those after it belong to ours again.
    kernel.unshare(CLONE_NEWPID)
    pid = os.fork()
    if pid == 0:
        _live(name, place, shared, cgroup, slurm, tells)
    kernel.enter("/proc/self/ns/pid", CLONE_NEWPID)
    os.close(tells)
    return pid, told


def _live(name, place, shared, cgroup, slurm, tells):
    """The life of the first process; never returns."""
    try:
        kernel.die_with_parent()
        kernel.set_process_name(f"swarm-{name}")
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        _keep_only(tells)
        _redirect(place.log(name))
        if cgroup:
            (cgroup / "cgroup.procs").write_text("0")
        kernel.enter(f"{NETNS_FOLDER}/{name}", CLONE_NEWNET)
        kernel.unshare(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC)
        socket.sethostname(name)
        _mount_all(name, place, [*((path, path) for path in shared), *(slurm.mounts(name) if slurm else [])])
        os.chdir("/")
        command([SSHD, "-f", "/etc/ssh/sshd_config", "-E", "/run/sshd.log"])
        if slurm:
            slurm.start(name)
        os.write(tells, READY)
        os.close(tells)
        _reap_for_ever()
    except BaseException as error:  # whatever it is, this process may not go on as a copy of the fabric
        os.write(tells, str(error).encode())
    finally:
        os._exit(1)


def argv_in(described, argv, cwd="/"):
    """The command line that runs `argv` in a node. It dies with whoever starts it (the very thread); as the head of
    a process group it can be ended with all it started, wherever that runs."""
    enter = ["nsenter", "-t", str(described["pid"]), "--mount", "--uts", "--ipc", "--net", "--pid"]
    with_me = ["setpriv", "--pdeathsig", "KILL"]
    return [*with_me, "sh", "-c", JOIN_CGROUP, described["cgroup"] or "", *enter, *with_me, "sh", "-c", GO_TO, "swarm", cwd,
            *map(str, argv)]


def _keep_only(descriptor):
    os.closerange(3, descriptor)
    os.closerange(descriptor + 1, os.sysconf("SC_OPEN_MAX"))


def _redirect(log):
    nothing, sink = os.open("/dev/null", os.O_RDONLY), os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for source, target in ((nothing, 0), (sink, 1), (sink, 2)):
        os.dup2(source, target)


def _mount_all(name, place, others):
    """What is the node's own is put over the machine's; `others`, (what, where), are brought back where that hid them,
    or put where nothing was."""
    kernel.make_mounts_private()
    disk = place.disk(name)
    for folder, mode in (("tmp", 0o1777), ("home", 0o700)):
        (disk / folder).mkdir(parents=True, exist_ok=True)
        (disk / folder).chmod(mode)
    # (what, where): opened before any of them is hidden
    own = [(place / "etc/hosts", "/etc/hosts"), (place / "etc/nsswitch.conf", "/etc/nsswitch.conf"),
           (place / "ssh", "/etc/ssh"), (disk / "tmp", "/tmp"), (disk / "home", home())]
    opened = [(os.open(what, os.O_PATH), where) for what, where in [*own, *others]]
    kernel.mount_new("proc", "/proc")
    kernel.mount_new("sysfs", "/sys")
    kernel.mount_new("tmpfs", "/sys/fs/cgroup")  # hidden: what stands there is the machine's
    kernel.mount_new("tmpfs", "/run")
    kernel.mount_new("tmpfs", "/dev/shm", "mode=1777")
    os.mkdir("/run/sshd")
    for number, (descriptor, where) in enumerate(opened):
        is_other = number >= len(own)
        if is_other:
            Path(where).mkdir(parents=True, exist_ok=True)
        if not is_other or not os.path.samestat(os.fstat(descriptor), os.stat(where)):
            kernel.bind(f"/proc/self/fd/{descriptor}", where)
        os.close(descriptor)


def _reap_for_ever():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    while True:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass
        signal.sigwaitinfo({signal.SIGCHLD})
