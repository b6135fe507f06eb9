"""Alembic's entry: `worker.store.schema.migrate` hands it an open connection, or a person who writes a revision."""

from alembic import context

from worker.store.schema.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    transactional_ddl=False,
)
context.run_migrations()
