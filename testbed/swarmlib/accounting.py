"""The accounting of a Slurm: slurmdbd, and mariadbd with its database, both on the node of slurmctld."""

import shutil
import socket
import subprocess
import time
from pathlib import Path

from swarmlib.kernel import TestbedError, command

INSTALL_DB, MARIADBD, SLURMDBD = "mariadb-install-db", "/usr/sbin/mariadbd", "/usr/sbin/slurmdbd"
DATABASE, USER, PASSWORD = "slurm_acct_db", "slurm", "slurm"
DATABASE_PORT, SLURMDBD_PORT = 3306, 6819
LISTENS_LIMIT_S = 30
POLL_S = 0.05

PLUGIN = "*/slurm-wlm/accounting_storage_mysql.so"
SOCKET = "/run/slurm/mariadbd.sock"
FILES = "/run/slurm/accounts"  # as the node sees them
# A small log is written faster than the usual 96 MB.
DATABASE_OPTIONS = ["--no-defaults", "--user=root", f"--datadir={FILES}", "--innodb-log-file-size=8M", "--tmpdir=/tmp"]
SETTLE = f"""\
create database if not exists {DATABASE};
create user if not exists {USER}@127.0.0.1 identified by '{PASSWORD}';
grant all on {DATABASE}.* to {USER}@127.0.0.1;
"""


def missing_packages():
    programs = {MARIADBD: "mariadb-server", INSTALL_DB: "mariadb-server", SLURMDBD: "slurmdbd"}
    missing = [package for program, package in programs.items() if not shutil.which(program)]
    return missing if any(Path("/usr/lib").glob(PLUGIN)) else [*missing, "slurm-wlm-mysql-plugin"]


class Accounting:
    def __init__(self, folder):
        self._folder = folder

    @staticmethod
    def settings(node):
        """Lines of slurm.conf."""
        return {"AccountingStorageType": "accounting_storage/slurmdbd", "AccountingStorageHost": node}

    def furnish(self, node, logs):
        (self._folder / "accounts").mkdir()
        (self._folder / "etc/settle.sql").write_text(SETTLE)
        configuration = self._folder / "etc/slurmdbd.conf"
        configuration.touch(mode=0o600)  # slurmdbd refuses one that others may read
        settings = {"DbdHost": node, "SlurmUser": "root", "AuthType": "auth/munge",
                    "StorageType": "accounting_storage/mysql", "StorageHost": "127.0.0.1", "StoragePort": DATABASE_PORT,
                    "StorageUser": USER, "StoragePass": PASSWORD, "StorageLoc": DATABASE,
                    "LogFile": f"{logs}/slurmdbd.log", "PidFile": "/run/slurm/slurmdbd.pid"}
        configuration.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))

    def mounts(self):
        return [(self._folder / "accounts", FILES)]

    def start(self, cluster, log, env):
        """Returns when slurmdbd answers and knows the cluster. A database from before a crash is used on."""
        if not any(Path(FILES).iterdir()):
            command([INSTALL_DB, *DATABASE_OPTIONS, "--auth-root-authentication-method=normal", "--skip-test-db"], env=env)
        with open(log, "a") as sink:
            subprocess.Popen([MARIADBD, *DATABASE_OPTIONS, f"--socket={SOCKET}", "--pid-file=/run/slurm/mariadbd.pid",
                              "--bind-address=127.0.0.1", f"--port={DATABASE_PORT}", "--init-file=/etc/slurm/settle.sql"],
                             stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, start_new_session=True, env=env)
        _await_port(DATABASE_PORT, "mariadbd", log)
        command([SLURMDBD], env=env)
        _await_port(SLURMDBD_PORT, "slurmdbd", log)
        if cluster not in command(["sacctmgr", "-n", "-P", "show", "cluster", "format=cluster"], env=env).split():
            command(["sacctmgr", "-i", "add", "cluster", cluster], env=env)


def _await_port(port, what, log):
    """Until somebody listens there."""
    deadline = time.monotonic() + LISTENS_LIMIT_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), LISTENS_LIMIT_S).close()
            return
        except OSError as error:
            if time.monotonic() > deadline:
                raise TestbedError(f"{what} does not listen within {LISTENS_LIMIT_S} s: {error.strerror}\n"
                                   f"  try: look into {log}") from None
            time.sleep(POLL_S)
