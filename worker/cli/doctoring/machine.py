"""Checks this machine: data directory, disk, ports, and isolation for programs that models write."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tools.environment import variable
from tools.isolation.mechanism import NONE, REMEDY, mechanism, why_none
from worker.cli.doctoring.finding import Finding, Level, Patient, fault
from worker.local.ports import port_in_use, port_owner

LOW_DISK_BYTES, NO_DISK_BYTES = 2_000_000_000, 200_000_000
USUAL_PORTS = {"the API": 8321, "Flower": 5555}


def data_dir(patient: Patient) -> Iterator[Finding]:
    """Checks that the data directory is writable and has room."""
    path = patient.settings.data_dir
    existing = next(parent for parent in (path.absolute(), *path.absolute().parents) if parent.exists())
    problem = _not_writable(existing)
    if problem:
        remedy = "Correct its permissions, or name another with STEPMILL_DATA_DIR."
        yield fault("data directory", "data_dir", f"{existing} cannot be written: {problem}.", remedy)
        return
    yield Finding("data directory", f"{path.absolute()} can be written")
    yield _room(existing)


def _not_writable(directory: Path) -> str | None:
    if not directory.is_dir():
        return "it is a file"
    try:
        with tempfile.NamedTemporaryFile(dir=directory, prefix=".stepmill-doctor-"):
            return None
    except OSError as error:
        return os.strerror(error.errno) if error.errno else str(error)


def _room(directory: Path) -> Finding:
    free = shutil.disk_usage(directory).free
    said = f"{free / 1e9:.1f} GB free on the disk of {directory}"
    if free < LOW_DISK_BYTES:
        level = Level.FAULT if free < NO_DISK_BYTES else Level.WARNING
        return fault("disk", "disk", f"Only {said}.", "Make room, or move STEPMILL_DATA_DIR to a larger disk.", level)
    return Finding("disk", said)


def ports(patient: Patient) -> Iterator[Finding]:
    """Checks that the default ports of `stepmill up` are free."""
    if patient.stack is not None:
        return
    for service, port in USUAL_PORTS.items():
        if port_in_use(port):
            holder = port_owner(port) or "another process"
            option = "--port" if service == "the API" else "--flower-port"
            message = f"Port {port}, usual for {service}, is in use by {holder}."
            yield fault("ports", "port", message, f"Stop it, or choose another: stepmill up {option} N.", Level.WARNING)


def isolation(patient: Patient) -> Iterator[Finding]:
    """Checks that `python_executor` can run programs here."""
    setting = variable("STEPMILL_PYTHON_ISOLATION")
    found = mechanism(setting)
    if found is None:
        message = f"Programs of a model's making cannot be isolated here ({why_none(setting)})."
        yield fault("isolation", "isolation", message, REMEDY, Level.WARNING)
    elif found == NONE:
        message = "STEPMILL_PYTHON_ISOLATION=none: programs that a model writes run with this user's rights."
        yield fault("isolation", "isolation_off", message, "Unset it where isolation works.", Level.WARNING)
    else:
        yield Finding("isolation", f"python_executor runs programs in {found}")
