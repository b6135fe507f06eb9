"""Files made by a run's tools: listed, and served so that a browser executes nothing in them."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import FileResponse

from api.context import Here
from api.problems import NotFound, no_run
from api.schema import answers, streams
from api.shapes import Artifacts
from worker.core.records import JsonObject
from worker.store.artifacts import artifact, artifacts_of
from worker.store.queries.runs import get_run

router = APIRouter(prefix="/api", tags=["artifacts"])

SHOWN = {"image/png", "image/jpeg", "image/gif", "image/webp", "text/plain", "text/csv", "application/json"}
"""Media types that a browser may show; everything else is downloaded."""

SAFE = {
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; sandbox",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "private, max-age=3600",
}


@router.get("/runs/{run_id}/artifacts", **answers("list_artifacts", Artifacts, 404))
def of_run(run_id: str, here: Here) -> JsonObject:
    """Lists the files of one run."""
    if get_run(here.store, run_id) is None:
        raise no_run(run_id)
    names = ("id", "step", "call", "name", "media_type", "size", "sha256", "created_at")
    rows = [{name: getattr(row, name) for name in names} for row in artifacts_of(here.store, run_id)]
    return {"items": [row | {"href": f"/api/artifacts/{row['id']}"} for row in rows]}


@router.get("/artifacts/{artifact_id}", **streams("get_artifact", {"*/*": "the file"}, 404))
def read(artifact_id: str, here: Here) -> FileResponse:
    """Returns one file, with headers that let a browser show images and plain text, and execute nothing."""
    row = artifact(here.store, artifact_id)
    kept = here.settings.data_dir.absolute() / "artifacts"
    path = Path(row.path).absolute() if row is not None else None
    if row is None or path is None or kept not in path.parents or not path.is_file():
        raise NotFound(f"There is no file {artifact_id!r} here.", "List a run's files with `stepmill run show RUN`.")
    plain = row.media_type.partition(";")[0].strip()
    shown = "inline" if plain in SHOWN else "attachment"
    media_type = row.media_type if plain in SHOWN else "application/octet-stream"
    return FileResponse(path, media_type=media_type, filename=row.name, headers=SAFE, content_disposition_type=shown)
