# SPDX-License-Identifier: Apache-2.0
"""Hosts that are network namespaces of this machine, each with an address and a host name, behind a bridge in one more
namespace. They share the machine's processors, memory and files; what goes between them goes through TCP."""
import contextlib
import os
import shutil
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path

NETWORK = "10.77.0.0/24"
BRIDGE = "br0"

# What launchers call in the place of ssh: [options] ADDRESS COMMAND...; the namespace is the one with that address, and a
# host name goes with it, by which MPICH tells hosts apart.
AGENT = """#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift; done
number=${{1##*.}}
shift
exec ip netns exec {name}-$number unshare --uts sh -c "hostname host$number; $*"
"""


def address(number):
    return f"10.77.0.{number}"


@dataclass(frozen=True)
class Hosts:
    name: str
    count: int
    agent: Path

    @property
    def first(self):
        """The words before a command that runs where the bridge is, from where a launcher reaches all hosts."""
        return ["ip", "netns", "exec", f"{self.name}-0"]

    @property
    def addresses(self):
        return [address(number) for number in range(1, self.count + 1)]

    @property
    def environment(self):
        """What makes the launchers of Open MPI and MPICH use these hosts, and Open MPI's ranks TCP alone. No rank is bound to
        a core, because a launcher would bind the first rank of each host to the same one. Their daemons stay children of the
        launcher, so that the processor time of ranks counts as the caller's."""
        return {
            "OMPI_MCA_plm_rsh_agent": str(self.agent), "OMPI_MCA_btl": "self,tcp", "OMPI_MCA_btl_tcp_if_include": NETWORK,
            "OMPI_MCA_oob_tcp_if_include": NETWORK, "OMPI_MCA_orte_leave_session_attached": "1",
            "OMPI_MCA_hwloc_base_binding_policy": "none",
            "PRTE_MCA_plm_ssh_agent": str(self.agent), "PRTE_MCA_prte_if_include": NETWORK,
            "PRTE_MCA_hwloc_default_binding_policy": "none",
            "HYDRA_LAUNCHER": "ssh", "HYDRA_LAUNCHER_EXEC": str(self.agent), "HYDRA_IFACE": BRIDGE}


def why_not(name):
    """Why there are no such hosts here, or an empty string."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    for tool in ("ip", "unshare", "hostname"):
        if shutil.which(tool) is None:
            return f"{tool} is missing"
    made = subprocess.run(["ip", "netns", "add", f"{name}-try"], capture_output=True, check=False)
    if made.returncode != 0:
        return f"no network namespaces here: {made.stderr.decode().strip()}"
    links = subprocess.run(["ip", "-n", f"{name}-try", "link", "add", BRIDGE, "type", "bridge"], capture_output=True, check=False)
    subprocess.run(["ip", "netns", "del", f"{name}-try"], check=True)
    return f"no bridges here: {links.stderr.decode().strip()}" if links.returncode != 0 else ""


@contextlib.contextmanager
def hosts(count, name, folder):
    """Makes them and removes them at the end. `folder` gets the script that stands for ssh."""
    def ip(*words):
        subprocess.run(["ip", *map(str, words)], check=True)

    try:
        for number in range(count + 1):
            ip("netns", "add", f"{name}-{number}")
            ip("-n", f"{name}-{number}", "link", "set", "lo", "up")
        ip("-n", f"{name}-0", "link", "add", BRIDGE, "type", "bridge")
        ip("-n", f"{name}-0", "address", "add", f"{address(254)}/24", "dev", BRIDGE)
        ip("-n", f"{name}-0", "link", "set", BRIDGE, "up")
        for number in range(1, count + 1):
            ip("-n", f"{name}-{number}", "link", "add", "eth0", "type", "veth",
               "peer", "name", f"port{number}", "netns", f"{name}-0")
            ip("-n", f"{name}-0", "link", "set", f"port{number}", "master", BRIDGE, "up")
            ip("-n", f"{name}-{number}", "address", "add", f"{address(number)}/24", "dev", "eth0")
            ip("-n", f"{name}-{number}", "link", "set", "eth0", "up")
        agent = Path(folder) / "agent"
        agent.write_text(AGENT.format(name=name), encoding="ascii")
        agent.chmod(agent.stat().st_mode | stat.S_IXUSR)
        yield Hosts(name, count, agent)
    finally:
        for number in range(count + 1):
            subprocess.run(["ip", "netns", "del", f"{name}-{number}"], check=False)
