"""A submission in progress: its signs of life, and the fingerprint that tells two submissions with one key apart."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import orjson
from sqlalchemy.exc import SQLAlchemyError

from api.problems import Problem
from worker.core.given import MAX_DEPTH
from worker.core.records import JsonObject
from worker.store.admission.submit import BEAT_S, still_filling
from worker.store.session import Store

log = logging.getLogger(__name__)


class Fingerprint:
    """Hashes a submission: its options, and every byte of its questions."""

    def __init__(self, options: JsonObject) -> None:
        try:
            self._digest = hashlib.sha256(orjson.dumps(options, option=orjson.OPT_SORT_KEYS))
        except TypeError:
            raise Problem(f"The body is nested deeper than {MAX_DEPTH} levels.") from None

    def over(self, body: Iterator[bytes]) -> Iterator[bytes]:
        """Yields the pieces of the body unchanged, and hashes each."""
        for piece in body:
            self._digest.update(piece)
            yield piece

    def __str__(self) -> str:
        return self._digest.hexdigest()


@contextmanager
def signs_of_life(store: Store, batch_id: str) -> Iterator[None]:
    """Records signs of life while the block runs, however slowly the body arrives."""
    done = threading.Event()
    thread = threading.Thread(target=_beat, args=(store, batch_id, done), name=f"filling {batch_id}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _beat(store: Store, batch_id: str, done: threading.Event) -> None:
    while not done.wait(BEAT_S):
        try:
            still_filling(store, batch_id)
        except SQLAlchemyError as error:
            log.warning("No sign of life for %s: %s", batch_id, type(error).__name__)
