"""Results that break off are never mistaken for complete ones: one sentence, an exit code, and no file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx2
import pytest

from tests.cli.conftest import Run
from tests.cli.test_client import Breaking, client_of
from tests.llm.servers import answering, http, serving
from worker.cli.batches.whole import MOST_BYTES, whole
from worker.core.errors import UserError
from worker.core.records import JsonObject
from worker.results.export import WRITERS, Shape
from worker.results.record import RECORD_FIELDS, error_record

SHAPE = Shape(metadata_keys=[f"key {n} " + "k" * 300 for n in range(40)])


def record(answer: str, **more: object) -> JsonObject:
    return dict.fromkeys(RECORD_FIELDS) | {
        "run_id": "run_1", "answer": answer, "usage": {}, "wasted": {}, "metadata": {}, **more
    }  # fmt: skip


def export(form: str, *answers: str, breaks_off: bool) -> bytes:
    def pages() -> Iterator[Sequence[JsonObject]]:
        yield [record(answer) for answer in answers]
        if breaks_off:
            raise OSError("the database is away")

    return b"".join(WRITERS[form][0](pages(), SHAPE))


LOOKS_LIKE_ONE = "\r\n,,,,,,internal,The results break off here.\r\n"
ANSWERS = ("plain", 'quoted " and\r\nover lines', "x" * 3 * MOST_BYTES, '"', LOOKS_LIKE_ONE)


@pytest.mark.parametrize("size", [1, 7, 64, 65_536])
@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_the_record_of_a_break_is_seen_wherever_pieces_are_cut_and_nothing_else_is_taken_for_it(
    form: str, size: int
) -> None:
    def pieces(text: bytes) -> Iterator[bytes]:
        yield from (text[at : at + size] for at in range(0, len(text), size))

    for n in range(len(ANSWERS) + 1):
        text = export(form, *ANSWERS[:n], breaks_off=False)
        assert b"".join(whole(pieces(text), form)) == text
        broken = export(form, *ANSWERS[:n], breaks_off=True)
        came = []
        with pytest.raises(UserError, match=r"The results break off here \(OSError\)") as caught:
            came += list(whole(pieces(broken), form))
        assert caught.value.exit_code == 3 and broken.startswith(text[:-2])


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_a_record_that_cannot_be_shown_is_no_break(form: str) -> None:
    row = error_record(None, "This record cannot be written.") | {"run_id": "run_2"}
    text = b"".join(WRITERS[form][0]([[record("fine"), row]], SHAPE))
    assert b"".join(whole([text], form)) == text


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_results_that_break_off_end_the_command_and_leave_no_file(stepmill: Run, tmp_path: Path, form: str) -> None:
    body = export(form, "first", breaks_off=True)
    with serving(answering(http(200, body), http(200, body))) as server:
        env = {"STEPMILL_API_URL": server.base_url}
        ran = stepmill("batch", "results", "batch_1", "--output", f"out.{form}", **env)
        piped = stepmill("batch", "results", "batch_1", "--format", form, **env)
    for one in (ran, piped):
        assert one.code == 3
        assert "Error: The results break off here (OSError); ask for them again.\nHint: " in one.err
    assert not list(tmp_path.glob("out.*"))
    assert "first" in piped.out


def test_a_download_that_is_cut_is_told_as_that() -> None:
    with (
        client_of(lambda _: httpx2.Response(200, stream=Breaking("PAR1"))) as client,
        client.download("/api/batches/b/results") as pieces,
        pytest.raises(UserError, match="broke off: connection reset") as caught,
    ):
        list(pieces)
    assert caught.value.exit_code == 3
