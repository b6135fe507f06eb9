"""Checks what runs: workers for every queue, the API, Flower, paused endpoints."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2

from tools.environment import variable
from tools.registry import load_tools
from worker.cli.doctoring.finding import Finding, Level, Patient, fault
from worker.cli.output import duration
from worker.cli.plans import known_queues
from worker.llm.address import without_password
from worker.llm.proxies import client_through, proxy_for
from worker.store.control.endpoints import paused
from worker.store.opening import open_store
from worker.store.queries.fleet import list_workers, serving, waiting_by_queue

RESUME_HINT = "`stepmill models resume {}` has it asked at once."
START = "Start one: stepmill worker --queues {queue}"


def workers(patient: Patient) -> Iterator[Finding]:
    """Checks that each queue has a worker, if work waits in it or if any worker runs."""
    if "database" not in patient.usable:
        return
    store = open_store(patient.settings.database, pool_size=2)
    try:
        served, waiting = serving(store), waiting_by_queue(store)
        stuck = [row for row in list_workers(store, False) if row.stuck]
        pauses = paused(store)
    finally:
        store.dispose()
    if not served:
        level = Level.FAULT if waiting or patient.stack else Level.WARNING
        yield fault("workers", "no_workers", "No worker is alive.", "Start the stack: `stepmill up`.", level)
        return
    yield Finding("workers", ", ".join(f"{queue} ×{count}" for queue, count in sorted(served.items())))
    for queue in known_queues(load_tools(patient.settings.tool_modules)):
        if not served.get(queue):
            yield _unserved(queue, waiting[queue].count if queue in waiting else 0)
    for row in stuck:
        message = f"Worker {row.name} has {row.stuck} threads that hang past their limit."
        yield fault("workers", "stuck", message, "Restart it when convenient; it retires by itself.", Level.WARNING)
    for pause in pauses.values():
        remedy = (
            pause.remedy if "models resume" in pause.remedy else f"{pause.remedy} {RESUME_HINT.format(pause.model)}"
        )
        message = f"{pause.model} is paused: {pause.reason} (looked at again in {duration(pause.retry_in_s)})"
        yield fault("models", "paused", message, remedy)


def _unserved(queue: str, count: int) -> Finding:
    if count:
        message = f"{count} pieces of work wait in {queue}, which has no worker."
        return fault("workers", "queue_without_worker", message, START.format(queue=queue))
    message = f"The queue {queue} has no worker; what is sent there will wait."
    return fault("workers", "queue_without_worker", message, START.format(queue=queue), Level.WARNING)


def addresses(patient: Patient) -> Iterator[Finding]:
    """Checks that API and Flower answer at their addresses."""
    known = dict(patient.stack.addresses) if patient.stack else {}
    if patient.settings.api_url:
        known["API"] = patient.settings.api_url
    for name, path in (("API", "/readyz"), ("Flower", "/healthcheck")):
        if name in known:
            yield _answers(name, known[name].rstrip("/") + path)


def _answers(name: str, url: str) -> Finding:
    remedy = f"Look into its log: {name.lower()}.log in the data directory's logs."
    shown = without_password(url)
    try:
        with client_through(proxy_for(url, variable), timeout=5.0) as http:
            status = http.get(url).status_code
    except (httpx2.TransportError, httpx2.InvalidURL) as error:
        message = f"{name} at {shown} does not answer: {error}."
        return fault(name, f"{name.lower()}_away", message, remedy, Level.UNREACHABLE)
    if status >= 400:
        message = f"{name} at {shown} answers {status}."
        return fault(name, f"{name.lower()}_unwell", message, remedy)
    return Finding(name, f"{shown} answers")
