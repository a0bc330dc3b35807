"""Where the machines of a cluster are: each in a network namespace of its own, or all on loopback."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_RANGE = "198.18"  # kept free for tests of networks: RFC 2544


@dataclass(frozen=True)
class Network:
    """The addresses of machines, how to start a program on each, and why they share one where they do."""

    driver: str
    addresses: Mapping[str, str]
    prefixes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    shared_because: str = ""

    def command(self, machine: str, *command: str) -> list[str]:
        return [*self.prefixes.get(machine, ()), *command]

    def cut(self, machine: str) -> None:
        """From now on nothing goes to or from it, and nobody is told."""
        _ip("-n", self.prefixes[machine][-1], "link", "set", "eth0", "down")


class NoNamespacesError(Exception):
    """Why no namespaces can be made here."""


@contextlib.contextmanager
def network(*machines: str) -> Iterator[Network]:
    """Namespaces on a bridge, which are removed at the end; where none can be made, the loopback interface."""
    with contextlib.ExitStack() as undo:
        try:
            found = _namespaces(machines, undo)
        except NoNamespacesError as why:
            undo.close()
            sys.stderr.write(f"the cluster's machines share the loopback interface: {why}\n")
            found = Network("127.0.0.1", dict.fromkeys(machines, "127.0.0.1"), shared_because=str(why))
        yield found


def _namespaces(machines: tuple[str, ...], undo: contextlib.ExitStack) -> Network:
    if os.geteuid() != 0:
        raise NoNamespacesError("only root may make network namespaces")
    if shutil.which("ip") is None:
        raise NoNamespacesError("iproute2 is not installed")
    mark = secrets.token_hex(2)
    subnet, bridge = _free_subnet(), f"pra{mark}"
    _ip("link", "add", bridge, "type", "bridge")
    undo.callback(_ip, "link", "delete", bridge)
    _ip("address", "add", f"{subnet}.1/24", "dev", bridge)
    _ip("link", "set", bridge, "up")
    addresses, prefixes = {}, {}
    for number, machine in enumerate(machines):
        space, end = f"pra{mark}-{machine}", f"pra{mark}v{number}"
        _ip("netns", "add", space)
        undo.callback(_ip, "netns", "delete", space)
        _ip("link", "add", end, "type", "veth", "peer", "name", "eth0", "netns", space)
        _ip("link", "set", end, "master", bridge, "up")
        addresses[machine], prefixes[machine] = f"{subnet}.{number + 2}", ("ip", "netns", "exec", space)
        _ip("-n", space, "address", "add", f"{addresses[machine]}/24", "dev", "eth0")
        _ip("-n", space, "link", "set", "eth0", "up")
        _ip("-n", space, "link", "set", "lo", "up")
    found = Network(f"{subnet}.1", addresses, prefixes)
    _reachable(found)
    return found


def _free_subnet() -> str:
    used = _ip("-o", "-4", "address")
    subnets = [f"{_RANGE}.{number}" for number in range(1, 255) if f" {_RANGE}.{number}." not in used]
    if not subnets:
        raise NoNamespacesError(f"no addresses of {_RANGE} are free")
    return secrets.choice(subnets)


# A machine listens, another and the driver call it: what a firewall on bridges could forbid.
_LISTEN = """
import socket
with socket.create_server(({host!r}, 0)) as server:
    server.settimeout(5)
    print(server.getsockname()[1], flush=True)
    for _ in range(2):
        server.accept()[0].close()
"""
_CALL = "import socket; socket.create_connection(({host!r}, {port}), 2).close()"


def _reachable(found: Network) -> None:
    one, other = list(found.addresses)[:2]
    host = found.addresses[one]
    listening = found.command(one, sys.executable, "-c", _LISTEN.format(host=host))
    with subprocess.Popen(listening, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        port = server.stdout.readline().strip()
        call = [sys.executable, "-c", _CALL.format(host=host, port=port)]
        calls = [found.command(other, *call), call]
        if not port or any(subprocess.run(c, capture_output=True, check=False).returncode for c in calls):
            server.kill()
            raise NoNamespacesError("machines on a bridge do not reach each other here")


def _ip(*arguments: str) -> str:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoNamespacesError(f"ip {' '.join(arguments[:2])}: {done.stderr.strip()}")
    return done.stdout
