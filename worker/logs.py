"""What workers log is foreign text too, in part: it is written out like all that reaches a terminal."""

from __future__ import annotations

import logging
from typing import Any

from celery import signals

from worker.terminal import safe


class _SafeText(logging.Filter):
    """On handlers: what formatters add, such as colours, comes afterwards."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = safe(record.getMessage()), None
        if record.exc_info and not record.exc_text:
            record.exc_text = safe(logging.Formatter().formatException(record.exc_info))
        return True


def write_out(logger: logging.Logger, **_: Any) -> None:
    """For every handler that the logger has now."""
    for handler in logger.handlers:
        handler.addFilter(_SafeText())


def watch_setup() -> None:
    """From now on, whenever Celery sets logging up in this process."""
    signals.after_setup_logger.connect(write_out, weak=False, dispatch_uid="stepmill-logs")
    signals.after_setup_task_logger.connect(write_out, weak=False, dispatch_uid="stepmill-task-logs")
