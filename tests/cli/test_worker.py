"""`stepmill worker` and `db`: what they refuse before anything starts."""

from __future__ import annotations

import os
from pathlib import Path

from tests.cli.conftest import Run
from tests.services.redis import RedisServer
from tools.registry import load_tools
from worker.cli.plans import known_queues, small_plan, stack_plan
from worker.local.ports import free_port
from worker.settings import Settings


def test_an_unknown_queue_is_refused_with_those_there_are(stepmill: Run) -> None:
    ran = stepmill("worker", "--queues", "think,tools.bakery")
    assert ran.code == 2
    assert "There is no queue 'tools.bakery'." in ran.err
    for queue in ("think", "think.interactive", "quarantine", "tools.local"):
        assert queue in ran.err


def test_no_queue_at_all_is_refused(stepmill: Run) -> None:
    assert "names no queue" in stepmill("worker", "--queues", " , ").err


def test_a_redis_that_is_away_ends_with_3_and_a_remedy(stepmill: Run) -> None:
    ran = stepmill("worker", "--queues", "think", STEPMILL_REDIS_URL=f"redis://127.0.0.1:{free_port()}/0")
    assert ran.code == 3
    assert "cannot be reached" in ran.err
    assert "STEPMILL_REDIS_URL" in ran.err


def test_a_wrong_redis_password_ends_with_3_and_is_not_printed(stepmill: Run, redis_server: RedisServer) -> None:
    ran = stepmill("worker", "--queues", "think", STEPMILL_REDIS_URL=f"redis://:hush@127.0.0.1:{redis_server.port}/0")
    assert ran.code == 3
    assert "refuses the password" in ran.err
    assert "hush" not in ran.err


def test_a_redis_url_that_is_none_is_wrong_use(stepmill: Run) -> None:
    ran = stepmill("worker", "--queues", "think", STEPMILL_REDIS_URL="localhost:6379")
    assert ran.code == 2
    assert "no Redis address" in ran.err


def test_a_database_that_is_not_migrated_ends_with_3_and_the_command(
    stepmill: Run, redis_server: RedisServer, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path / 'empty.db'}"
    ran = stepmill("worker", "--queues", "think", STEPMILL_REDIS_URL=redis_server.url, STEPMILL_DATABASE_URL=url)
    assert ran.code == 3
    assert "is empty" in ran.err
    assert "stepmill db upgrade" in ran.err


def test_a_database_server_that_is_away_ends_with_3_without_its_password(stepmill: Run) -> None:
    url = f"postgresql://anna:hush@127.0.0.1:{free_port()}/stepmill"
    ran = stepmill("db", "check", STEPMILL_DATABASE_URL=url)
    assert ran.code == 3
    assert "hush" not in ran.err
    assert "STEPMILL_DATABASE_URL" in ran.err


def test_db_upgrade_makes_what_db_check_wants(stepmill: Run) -> None:
    assert stepmill("db", "check").code == 3
    assert stepmill("db", "upgrade").code == 0
    assert stepmill("db", "upgrade").code == 0
    assert stepmill("db", "check", "--json").json["ready"] is True


def test_serving_beyond_loopback_needs_a_key(stepmill: Run) -> None:
    ran = stepmill("serve", "--host", "0.0.0.0")
    assert ran.code == 2
    assert "STEPMILL_ADMIN_KEY" in ran.err


def test_the_stack_serves_every_queue_that_there_is(tmp_path: Path) -> None:
    config = Settings(_env_file=None, data_dir=tmp_path)
    known = set(known_queues(load_tools()))
    for plan in (stack_plan(config), small_plan(config)):
        served = {queue for worker in plan.workers for queue in worker.queues.split(",")}
        assert served - {"quarantine"} == {queue for queue in known if not queue.startswith("quarantine.")}
        assert "quarantine" in served


def test_the_practice_model_is_left_out_when_a_model_is_named(tmp_path: Path) -> None:
    plain = Settings(_env_file=None, data_dir=tmp_path)
    named = Settings(_env_file=None, data_dir=tmp_path, model="gpt-x")
    assert stack_plan(plain).practice
    assert not stack_plan(named).practice


def test_a_port_in_use_is_named_before_anything_starts(stepmill: Run, redis_server: RedisServer) -> None:
    ran = stepmill("up", "--port", str(redis_server.port), "--flower-port", "0")
    assert ran.code == 2
    assert f"Port {redis_server.port}, wanted for the API, is in use" in ran.err


def test_down_without_a_stack_says_so(stepmill: Run) -> None:
    ran = stepmill("down")
    assert ran.code == 0
    assert "No stack runs in" in ran.out
    assert stepmill("down", "--json").json == {"stopped": False}
    assert not os.path.exists(".stepmill/stack.json")
