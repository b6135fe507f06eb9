"""What an operator sees in Flower during a batch agrees with the database, tool by tool."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import func, select

from tests.engine.fleet import Fleet
from tests.services.browser import Browser
from tests.services.waiting import wait_until
from worker.celery_app import make_app
from worker.local.plan import StackPlan, flower_service
from worker.local.supervisor import Supervisor
from worker.settings import Settings
from worker.store.schema.tables import attempts, tool_calls

pytestmark = pytest.mark.timeout(300)

SHOWN = {"SUCCESS": "ok", "FAILURE": "error"}


@pytest.fixture
def flower(fleet: Fleet, tmp_path: Path) -> Iterator[str]:
    plan = StackPlan(tmp_path, fleet.database_url, flower_port=0).with_ports()
    environment = {"STEPMILL_REDIS_URL": fleet.redis_url, "STEPMILL_TOOL_MODULES": ""}
    supervisor = Supervisor([flower_service(plan, environment)], tmp_path / "logs")
    supervisor.start()
    yield f"http://127.0.0.1:{plan.flower_port}"
    supervisor.stop()


def seen(browser: Browser, flower: str, name: str, state: str) -> int:
    """How many tasks Flower's page says there are."""
    words = browser.text(f"{flower}/tasks?name={name}&state={state}")
    if "No tasks to show" in words:
        return 0
    found = re.search(r"Showing \d+ to \d+ of ([\d,]+) tasks", words)
    assert found, f"the page of {name} in state {state} shows no count: {words[-500:]}"
    return int(found[1].replace(",", ""))


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_each_tools_successes_and_failures_agree_with_the_database(fleet: Fleet, flower: str, tmp_path: Path) -> None:
    browser = Browser(tmp_path)
    fleet.start(slots=4)
    sums = [f"What is {n} * 7?" for n in range(12)]
    batch = fleet.submit([*sums, "What is 1 / 0?", "What is 5 / 0?"])
    fleet.finish(batch)
    run = fleet.runs(batch)[0]
    late = make_app(Settings(redis_url=fleet.redis_url))
    late.send_task("think", args=[run.id, 1, 0, 1], queue="think", task_id=f"{run.id}.1.0.99", ignore_result=True)

    query = (
        select(tool_calls.c.tool, attempts.c.outcome, func.count())
        .join(attempts, (attempts.c.run_id == tool_calls.c.run_id) & (attempts.c.step == tool_calls.c.step))
        .where(attempts.c.call == tool_calls.c.call)
        .group_by(tool_calls.c.tool, attempts.c.outcome)
    )
    recorded = {(row[0], row[1]): row[2] for row in fleet.rows(query)}
    assert recorded[("calculator", "ok")] >= 12 and recorded[("calculator", "error")] >= 2
    for state, outcome in SHOWN.items():
        expected = recorded.get(("calculator", outcome), 0)
        wait_until(
            f"Flower shows {expected} times {state}",
            lambda state=state, expected=expected: seen(browser, flower, "tools.calculator", state) == expected,  # type: ignore[misc]
            timeout_s=60,
        )
    wait_until(
        "the late work message is DISCARDED", lambda: seen(browser, flower, "think", "DISCARDED") == 1, timeout_s=60
    )
    words = browser.text(f"{flower}/tasks?name=tools.calculator")
    assert f"run {run.id}"[:12] in words and "step 1" in words and "attempt 1" in words
    assert "What is" not in words and "* 7" not in words, "the page tells a question"
