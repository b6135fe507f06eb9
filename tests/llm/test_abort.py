"""Aborting races with the call in every way, and never hits another call."""

from __future__ import annotations

import random
import socket
import threading

import pytest

from tests.llm.servers import answering, completion, http, serving
from worker.core.errors import Stopped, StopReason
from worker.llm.client import ModelClient
from worker.llm.endpoint import ModelRequest
from worker.llm.watchdog import Abort, AbortedError

REQUEST = ModelRequest("m", [{"role": "user", "content": "hi"}])


def test_the_first_reason_stays() -> None:
    abort = Abort()
    assert abort.reason is None
    assert abort.abort(StopReason.HAND_BACK)
    assert not abort.abort(StopReason.CANCEL)
    assert abort.reason is StopReason.HAND_BACK


def test_only_a_socket_that_is_blocked_on_is_shut_down() -> None:
    ours, peer = socket.socketpair()
    with ours, peer:
        abort = Abort()
        abort.hold(ours)
        abort.let_go()
        abort.abort(StopReason.CANCEL)
        peer.sendall(b"still open")
        assert ours.recv(100) == b"still open"
        with pytest.raises(AbortedError):
            abort.hold(ours)


def test_what_arrives_in_the_moment_of_the_abort_does_not_count() -> None:
    ours, peer = socket.socketpair()
    with ours, peer:
        abort = Abort()
        abort.hold(ours)
        abort.abort(StopReason.CANCEL)
        assert peer.recv(100) == b"", "the socket was shut down"
        with pytest.raises(AbortedError):
            abort.let_go()


def test_under_a_hail_of_aborts_only_aborted_calls_are_stopped_and_every_other_is_answered() -> None:
    dice = random.Random(7)
    with serving(answering(http(200, completion()))) as server:
        client = ModelClient(server.base_url, "key")
        stray: list[object] = []
        answered = threading.Semaphore(0)

        def work(seed: int) -> None:
            own = random.Random(seed)
            for _ in range(60):
                abort, doomed = Abort(), own.random() < 0.4
                timer = threading.Timer(own.uniform(0, 0.003), abort.abort, (StopReason.CANCEL,))
                if doomed:
                    timer.start()
                try:
                    client.complete(REQUEST, 10, abort)
                    answered.release()
                except Stopped:
                    if not doomed:
                        stray.append("stopped without an abort")
                except BaseException as exc:
                    stray.append(exc)
                if doomed:
                    timer.join()

        threads = [threading.Thread(target=work, args=(dice.random(),)) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert stray == []
        assert answered.acquire(blocking=False), "some calls were answered"
        assert len(server.requests) >= 6 * 60 * 0.5
        client.close()
