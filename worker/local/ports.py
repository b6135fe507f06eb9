"""Finds free loopback ports, and the processes that hold others."""

from __future__ import annotations

import contextlib
import socket

import psutil

from worker.local.errors import PortInUse

HOST = "127.0.0.1"


def free_port() -> int:
    """Returns a loopback port that is free now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def port_in_use(port: int) -> bool:
    """Returns whether a server would fail to bind this port on loopback now."""
    with socket.socket() as probe:
        # As servers do, so that a port counts as free while old connections on it are still closing.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return True
    return False


def port_owner(port: int) -> str | None:
    """Returns `name (pid n)` of the process that listens there; None if this user may not see it."""
    with contextlib.suppress(psutil.AccessDenied, psutil.NoSuchProcess):
        for connection in psutil.net_connections("tcp"):
            listens = connection.status == psutil.CONN_LISTEN and connection.laddr and connection.laddr[1] == port
            if listens and connection.pid:
                return f"{psutil.Process(connection.pid).name()} (pid {connection.pid})"
    return None


def require_free(wanted: dict[str, int]) -> None:
    """Raises PortInUse, with service, port and holder, for the first port of `wanted` that is in use."""
    for service, port in wanted.items():
        if port_in_use(port):
            holder = port_owner(port) or "a process of another user"
            raise PortInUse(
                f"port {port}, wanted for {service}, is in use by {holder}", "stop that process or choose another port"
            )
