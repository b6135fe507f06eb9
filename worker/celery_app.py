"""The Celery application: JSON only, no result backend, early acks, one priority step."""

from __future__ import annotations

from typing import Any

from celery import Celery

from worker.logs import watch_setup
from worker.settings import Settings, settings

SEND_TIMEOUT_S = 5.0


class StepmillCelery(Celery):  # type: ignore[misc]  # celery has no types
    """The application. Spawned pool children import it, because one rebuilt from a pickle would have no tasks."""

    def connection_for_write(self, url: str | None = None, **options: Any) -> Any:
        """Limits how long a send may block: a message that cannot be sent is sent later by a sweeper."""
        options["transport_options"] = {"socket_timeout": SEND_TIMEOUT_S, **(options.get("transport_options") or {})}
        return super().connection_for_write(url, **options)

    def __reduce__(self) -> tuple[Any, ...]:
        return _this_app, ()


def _this_app() -> Celery:
    return app


def make_app(config: Settings) -> Celery:
    """Makes an application for this broker. `worker.tasks` adds the tasks."""
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
        # Children are new interpreters: a fork would copy the parent while its threads are in the middle of something.
        worker_pool_start_method="spawn",
        # They import everything again. By default Celery kills a child that is not up in 4 s, and then the next one.
        worker_proc_alive_timeout=120.0,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_transport_options={
            "socket_timeout": 30.0,
            "socket_connect_timeout": 5.0,
            "socket_keepalive": True,
            "priority_steps": [0],
            # Sweepers send lost work messages again, so Redis need not track unacknowledged ones.
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
