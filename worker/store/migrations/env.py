"""Alembic's entry: it is handed an open connection by `worker.store.migrate` (or by hand, to write a new revision)."""

from alembic import context

from worker.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    transactional_ddl=False,
)
context.run_migrations()
