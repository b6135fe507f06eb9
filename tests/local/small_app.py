"""A Celery application with one tool-like task, for Flower to watch."""

from __future__ import annotations

import os

from celery import Celery

app = Celery("small", broker=os.environ.get("STEPMILL_REDIS_URL"), set_as_current=False)
app.conf.update(task_ignore_result=True, worker_send_task_events=True)


@app.task(name="tools.calculator")
def calculator(question: str) -> str:
    if "failing" in question:
        raise ValueError(f"cannot answer {question}")
    return "applied"
