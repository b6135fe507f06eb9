"""Adds message extras, what endpoints refuse, and the kind of an endpoint's pause."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("steps", sa.Column("extras", sa.JSON(none_as_null=True), nullable=True))
    op.add_column("steps", sa.Column("endpoint_id", sa.Text(), nullable=True))
    op.add_column("active", sa.Column("output_raises", sa.BigInteger(), server_default=sa.text("0"), nullable=False))
    op.add_column("endpoints", sa.Column("paused_kind", sa.Text(), nullable=True))
    op.add_column("endpoints", sa.Column("api_key_env", sa.Text(), nullable=True))
    op.add_column("endpoints", sa.Column("answered_at", sa.Double(), nullable=True))
    op.create_table(
        "learned",
        sa.Column("endpoint_id", sa.Text(), nullable=False),
        sa.Column("feature", sa.Text(), nullable=False),
        sa.Column("value", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("said", sa.Text(), server_default="", nullable=False),
        sa.Column("learned_at", sa.Double(), server_default=sa.text("(0.0)"), nullable=False),
        sa.PrimaryKeyConstraint("endpoint_id", "feature", name=op.f("pk_learned")),
    )
