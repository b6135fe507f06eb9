"""Adds the state of admission and the fingerprints of submissions; clamps weights that would stop admission."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("admission", sa.Column("succeeded_at", sa.Double(), nullable=True))
    op.add_column("endings", sa.Column("aside_until", sa.Double(), nullable=True))
    op.add_column("endings", sa.Column("aside_reason", sa.Text(), nullable=True))
    op.add_column("batches", sa.Column("fingerprint", sa.Text(), nullable=True))
    op.add_column("batches", sa.Column("filled_at", sa.Double(), nullable=True))
    # Version 0.1.0 accepted any weight above 0; admission divides by it.
    for table in ("batches", "owners"):
        op.execute(f"UPDATE {table} SET weight = 0.001 WHERE weight < 0.001")
        op.execute(f"UPDATE {table} SET weight = 1000.0 WHERE weight > 1000.0")
