"""Removes logins and keys from stored base URLs, and renames the endpoints whose ids were made from them."""

import hashlib
import re

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

LOGIN = re.compile(r"^([a-z]+://)[^/?#]*@", re.IGNORECASE)
KEY = re.compile(
    r"(?<=[?&])(?:[^=&#]*(?:key|token|secret|password|passwd|pwd|credential|signature)s?|sig|code)=[^&#]*&?",
    re.IGNORECASE,
)

configurations = sa.table("configurations", sa.column("hash", sa.Text), sa.column("body", sa.JSON))
endpoints = sa.table("endpoints", sa.column("id", sa.Text), sa.column("base_url", sa.Text), sa.column("model", sa.Text))
active = sa.table("active", sa.column("parked", sa.Text))


def upgrade() -> None:
    connection = op.get_bind()
    for digest, body in connection.execute(sa.select(configurations.c.hash, configurations.c.body)).all():
        url = public(str(body.get("base_url", "")))
        if url != body.get("base_url", ""):
            row = sa.update(configurations).where(configurations.c.hash == digest)
            connection.execute(row.values(body={**body, "base_url": url}))
    for old, base_url, model in connection.execute(sa.select(endpoints)).all():
        url = public(base_url)
        if url != base_url:
            rename(connection, old, url, model)


def rename(connection: sa.Connection, old: str, url: str, model: str) -> None:
    new = hashlib.sha256(f"{url.rstrip('/')}\n{model}".encode()).hexdigest()[:16]
    if connection.execute(sa.select(endpoints.c.id).where(endpoints.c.id == new)).first():
        connection.execute(sa.delete(endpoints).where(endpoints.c.id == old))
    else:
        connection.execute(sa.update(endpoints).where(endpoints.c.id == old).values(id=new, base_url=url))
    parked = sa.update(active).where(active.c.parked == f"model:{old}")
    connection.execute(parked.values(parked=f"model:{new}"))


def public(url: str) -> str:
    return KEY.sub("", LOGIN.sub(r"\1", url)).rstrip("?&")


def downgrade() -> None:
    """Does nothing: what was removed cannot be restored, and nothing reads it."""
