"""Alembic's entry point; `worker.store.schema.migrate` passes it an open connection."""

from alembic import context

from worker.store.schema.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    transactional_ddl=False,
)
context.run_migrations()
