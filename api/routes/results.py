"""The results of a batch as a stream, in input order, even while it runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from starlette.responses import StreamingResponse

from api.context import Context, Here
from api.options import names_among
from api.problems import no_batch
from api.schema import streams
from api.views import record_of, trace_view
from worker.core.errors import ErrorCode
from worker.core.records import JsonObject
from worker.core.states import RunState
from worker.results.export import WRITERS, Shape, needs_parquet
from worker.store.queries.common import get_batch
from worker.store.queries.runs import PAGE, PAGE_CHARS, Filter, all_of_batch, steps_of
from worker.store.session import AnyRow

router = APIRouter(prefix="/api/batches", tags=["results"])

KNOWN = {*(state.value for state in RunState), *(code.value for code in ErrorCode), "ended"}
_WRITTEN = {
    "application/x-ndjson": "a result record a line (see `Result`), with its `trace` where `with_steps` is set",
    "text/csv": "a header and a row a record",
    "application/vnd.apache.parquet": "a table",
}
ROW_GROUP = 5_000
GROUP_CHARS = 16_000_000
"""Characters read at once for Parquet, whose row groups should not be small."""
WITH_STEPS = 20
"""Rows read at once if their steps are included, which makes them many times larger."""


@router.get("/{batch_id}/results", **streams("get_results", _WRITTEN, 404))
def results(
    batch_id: str,
    here: Here,
    format: Literal["jsonl", "csv", "parquet"] = "jsonl",
    only: Annotated[str, Query(max_length=500)] = "",
    with_steps: bool = False,
    excel_safe: bool = False,
) -> StreamingResponse:
    """Streams result records; `only` selects states or error codes."""
    row = get_batch(here.store, batch_id)
    if row is None:
        raise no_batch(batch_id)
    if format == "parquet":
        needs_parquet()
    which = Filter(batch_id=batch_id, only=names_among(only, KNOWN, "only"))
    write, media_type = WRITERS[format]
    rows = all_of_batch(here.store, which, *_page_of(format, with_steps))
    body = write(_pages(here, rows, with_steps), _shape(row, with_steps, excel_safe))
    name = f'attachment; filename="{batch_id}.{format}"'
    return StreamingResponse(body, media_type=media_type, headers={"content-disposition": name})


def _page_of(format: str, with_steps: bool) -> tuple[int, int]:
    """Returns how many rows, and how many characters, one reader may hold in memory at a time."""
    if format == "parquet":
        return ROW_GROUP, GROUP_CHARS
    return (WITH_STEPS if with_steps else PAGE), PAGE_CHARS


def _shape(row: AnyRow, with_steps: bool, excel_safe: bool) -> Shape:
    options: dict[str, Any] = row.options or {}
    return Shape(
        metadata_keys=options.get("metadata_keys", ()),
        more_metadata=bool(options.get("more_metadata")),
        scored=bool(options.get("scored")),
        with_steps=with_steps,
        excel_safe=excel_safe,
    )


def _pages(here: Context, rows: Iterator[Sequence[AnyRow]], with_steps: bool) -> Iterator[list[JsonObject]]:
    for page in rows:
        records = [record_of(here, row) for row in page]
        if with_steps:
            traces = steps_of(here.store, [row.id for row in page])
            for record in records:
                record["trace"] = trace_view(traces.get(record["run_id"], []))
        yield records
