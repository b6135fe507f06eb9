"""Splits what a run is parked for, formerly one text with a prefix, into a kind and a target."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("active", sa.Column("parked_target", sa.Text(), nullable=True))
    split_marks()


def split_marks() -> None:
    """Splits the values of older versions: `model:ID` and `group:QUEUE`."""
    # Waiting for a person was stored as a group named `approval` or `answer`.
    op.execute(
        "UPDATE active SET parked = 'person', parked_target = substr(parked, 7) "
        "WHERE parked IN ('group:approval', 'group:answer')"
    )
    for kind in ("model", "group"):
        start = len(kind) + 1
        op.execute(
            f"UPDATE active SET parked = '{kind}', parked_target = substr(parked, {start + 1}) "
            f"WHERE substr(parked, 1, {start}) = '{kind}:'"
        )
