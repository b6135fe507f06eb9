"""Renames the worker state `void` to `dead`, and drops a column that nothing ever wrote."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    name_the_dead()
    op.drop_column("artifacts", "data")


def name_the_dead() -> None:
    op.execute(sa.text("UPDATE workers SET state = 'dead' WHERE state = 'void'"))
