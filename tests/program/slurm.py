# SPDX-License-Identifier: Apache-2.0
# A Slurm of one node on this machine, for a test: its own configuration, ports and folders, and no
# authentication, so that it needs nothing of the system's Slurm and leaves nothing behind.
import os
import shutil
import socket
import subprocess
import time

NEEDED = ("slurmctld", "slurmd", "sbatch", "srun", "scontrol")
START_S = 60

CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/none
CredType=cred/none
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=pmix
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
KillWait=5
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def why_not():
    """Why there can be no Slurm here; empty if there can."""
    if os.geteuid() != 0:
        return "only root can run slurmd"
    missing = [name for name in NEEDED if shutil.which(name) is None]
    return f"not installed: {', '.join(missing)} (Debian: slurm-wlm)" if missing else ""


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Slurm:
    """`environment` makes Slurm's commands speak to it."""

    def __init__(self, folder):
        self.folder = folder
        for name in ("state", "spool"):
            (folder / name).mkdir()
        host = socket.gethostname().partition(".")[0]
        path = folder / "slurm.conf"
        path.write_text(CONFIGURATION.format(host=host, ports=free_ports(2), folder=folder, cores=len(os.sched_getaffinity(0))))
        self.environment = {**os.environ, "SLURM_CONF": str(path)}
        self._daemons = [subprocess.Popen([name, "-D"], env=self.environment, stdin=subprocess.DEVNULL,
                                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                         for name in ("slurmctld", "slurmd")]
        try:
            self._wait_until_idle()
        except BaseException:
            self.stop()
            raise

    def _said(self, *command):
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    def _logs(self):
        return "".join(path.read_text(errors="replace")[-2000:] for path in sorted(self.folder.glob("*.log")))

    def _wait_until_idle(self):
        ends = time.monotonic() + START_S
        while True:
            said = self._said("sinfo", "-h", "-o", "%T")
            if said.strip() == "idle":
                return
            if time.monotonic() > ends:
                raise RuntimeError(f"Slurm did not start: {said}{self._logs()}")
            time.sleep(0.2)

    def run(self, *command, timeout_s=90, **environment):
        try:
            return subprocess.run([str(word) for word in command], env={**self.environment, **environment}, capture_output=True,
                                  text=True, timeout=timeout_s, check=False)
        except subprocess.TimeoutExpired as error:
            raise RuntimeError(f"{command[0]} took more than {timeout_s} s: {self._said('squeue')}{self._said('sinfo')}"
                               f"{self._logs()}") from error

    def stop(self):
        for daemon in reversed(self._daemons):
            daemon.terminate()
        for daemon in self._daemons:
            try:
                daemon.wait(timeout=20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
