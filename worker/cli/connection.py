"""Finds the API: the configured one, else the stack of this directory, else a temporary stack."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from worker.cli.client import Client
from worker.cli.errors import EXIT_UNREACHABLE
from worker.core.errors import UserError
from worker.llm.address import without_password
from worker.local.state import StackInfo, running_stack
from worker.settings import Settings, settings
from worker.terminal import echo


def api_url(config: Settings) -> str | None:
    """Returns the URL of the configured API or of the one that runs here, else None."""
    if config.api_url:
        return config.api_url
    info = running_stack(config.data_dir)
    if info is None:
        return None
    if not info.ready:
        message = f"The stack in {config.data_dir} is still starting."
        raise UserError(message, "Try again in a few seconds.", EXIT_UNREACHABLE)
    return info.addresses["API"]


def flower_url(config: Settings) -> str | None:
    """Returns the URL of this stack's Flower, or None if it is unknown."""
    if config.flower_url:
        return without_password(config.flower_url.rstrip("/"))
    info = None if config.api_url else running_stack(config.data_dir)
    return info.addresses.get("Flower") if info is not None else None


def join_running_stack() -> StackInfo | None:
    """Uses the addresses of the stack of this directory, except those that the environment sets."""
    info = running_stack(settings().data_dir)
    if info is not None:
        for name, value in info.environment.items():
            if not os.environ.get(name, "").strip():
                os.environ[name] = value
        settings.cache_clear()
    return info


@contextlib.contextmanager
def connected() -> Iterator[Client]:
    """Yields a client of a running stack. Raises `UserError` if there is none."""
    config = settings()
    url = api_url(config)
    if url is None:
        hint = "`stepmill up` starts one; STEPMILL_API_URL names one elsewhere."
        raise UserError(f"No stack runs in {config.data_dir}.", hint, EXIT_UNREACHABLE)
    with Client(url, config.api_key or config.admin_key) as client:
        yield client


@contextlib.contextmanager
def reading() -> Iterator[Client]:
    """Yields a client for reading. If no stack runs, starts the API alone for the duration."""
    with _client_or_temporary(work=False) as client:
        yield client


@contextlib.contextmanager
def working() -> Iterator[Client]:
    """Yields a client of a stack that answers questions. If none runs, starts one for the duration."""
    with _client_or_temporary(work=True) as client:
        yield client


def would_be_temporary() -> bool:
    """Returns whether `working` would have to start a stack."""
    return api_url(settings()) is None


@contextlib.contextmanager
def _client_or_temporary(work: bool) -> Iterator[Client]:
    config = settings()
    key = config.api_key or config.admin_key
    url = api_url(config)
    if url is not None:
        with Client(url, key) as client:
            yield client
        return
    # Imported here because the stack takes longer to import than one call to a running API.
    from worker.cli.plans import small_plan
    from worker.cli.temporary_stack import only_reading, temporary_stack, without_flower

    echo("No stack runs here: starting one for this command …", dim=True, err=True)
    chosen = without_flower if work else only_reading
    with temporary_stack(small_plan(config), chosen) as info, Client(info.addresses["API"], key) as client:
        yield client
