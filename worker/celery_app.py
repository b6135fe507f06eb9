"""The Celery application: JSON only, no result backend, early acks, one priority step."""

from __future__ import annotations

from typing import Any

from celery import Celery

from worker.logs import watch_setup
from worker.settings import Settings, settings

SEND_TIMEOUT_S = 5.0


class StepmillCelery(Celery):  # type: ignore[misc]  # celery has no types
    """An application that a spawned pool child finds by importing it: rebuilt from a pickle it would have no tasks."""

    def connection_for_write(self, url: str | None = None, **options: Any) -> Any:
        """A message that cannot be sent soon is sent again by a sweeper: nobody waits for it."""
        options["transport_options"] = {"socket_timeout": SEND_TIMEOUT_S, **(options.get("transport_options") or {})}
        return super().connection_for_write(url, **options)

    def __reduce__(self) -> tuple[Any, ...]:
        return _this_app, ()


def _this_app() -> Celery:
    return app


def make_app(config: Settings) -> Celery:
    """An application for this broker. Tasks are added by `worker.tasks`."""
    app = StepmillCelery("stepmill", broker=config.redis, set_as_current=False)
    app.conf.update(
        accept_content=["json"],
        task_serializer="json",
        result_backend=None,
        task_ignore_result=True,
        task_acks_late=False,
        task_default_queue="think",
        task_default_priority=0,
        broker_transport="worker.broker:Transport",
        worker_consumer="worker.fleet.consumer:Consumer",
        worker_prefetch_multiplier=1,
        worker_send_task_events=True,
        task_send_sent_event=False,
        event_queue_ttl=30,
        event_queue_expires=60,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        # The children are fresh interpreters: the parent has threads, which a fork would copy in mid-step.
        worker_pool_start_method="spawn",
        # They import everything anew. Celery kills a child that is not up after 4 s, and then the next one, for ever.
        worker_proc_alive_timeout=120.0,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_transport_options={
            "socket_timeout": 30.0,
            "socket_connect_timeout": 5.0,
            "socket_keepalive": True,
            "priority_steps": [0],
            # A lost work message is sent again by a sweeper: Redis need not remember who fetched it.
            "ack_emulation": False,
        },
    )
    if config.redis_url.startswith("rediss://"):
        app.conf.broker_use_ssl = {"ssl_cert_reqs": "required"}
    return app


watch_setup()
app = make_app(settings())

from worker.tasks import register  # noqa: E402  (needs the settings above, and must not need the app)

register(app)
