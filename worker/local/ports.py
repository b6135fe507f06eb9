"""Which loopback ports are free, and who holds the others."""

from __future__ import annotations

import contextlib
import socket

import psutil

from worker.local.errors import PortInUse

HOST = "127.0.0.1"


def free_port() -> int:
    """A loopback port that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def port_in_use(port: int) -> bool:
    """Whether a server could not bind this port on the loopback address now."""
    with socket.socket() as probe:
        # As servers do: a port whose last connections are only lingering is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return True
    return False


def port_owner(port: int) -> str | None:
    """`name (pid n)` of the process that listens there; None where the system does not tell this user."""
    with contextlib.suppress(psutil.AccessDenied, psutil.NoSuchProcess):
        for connection in psutil.net_connections("tcp"):
            listens = connection.status == psutil.CONN_LISTEN and connection.laddr and connection.laddr[1] == port
            if listens and connection.pid:
                return f"{psutil.Process(connection.pid).name()} (pid {connection.pid})"
    return None


def require_free(wanted: dict[str, int]) -> None:
    """Raises PortInUse, naming service, port and holder, for the first port of `wanted` that is taken."""
    for service, port in wanted.items():
        if port_in_use(port):
            holder = port_owner(port) or "a process of another user"
            raise PortInUse(
                f"port {port}, wanted for {service}, is in use by {holder}", "stop that process or choose another port"
            )
