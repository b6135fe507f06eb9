"""Escapes control characters in workers' logs, which may contain text from models, tools and the web."""

from __future__ import annotations

import logging
from typing import Any

from celery import signals

from worker.terminal import safe


class _SafeText(logging.Filter):
    """Escapes messages. Attached to handlers, so that colours added by formatters stay."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = safe(record.getMessage()), None
        if record.exc_info and not record.exc_text:
            record.exc_text = safe(logging.Formatter().formatException(record.exc_info))
        return True


def write_out(logger: logging.Logger, **_: Any) -> None:
    """Adds the filter to every current handler of the logger."""
    for handler in logger.handlers:
        handler.addFilter(_SafeText())


def watch_setup() -> None:
    """Applies `write_out` whenever Celery sets up logging in this process."""
    signals.after_setup_logger.connect(write_out, weak=False, dispatch_uid="stepmill-logs")
    signals.after_setup_task_logger.connect(write_out, weak=False, dispatch_uid="stepmill-task-logs")
