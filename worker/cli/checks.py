"""Checks that Redis and the database are reachable and suitable; errors say how to fix them."""

from __future__ import annotations

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, RedisError
from redis.retry import Retry
from sqlalchemy.exc import SQLAlchemyError

from worker.cli.errors import EXIT_UNREACHABLE, one_line
from worker.core.errors import UserError
from worker.llm.address import without_password
from worker.settings import Settings
from worker.store.opening import open_store
from worker.store.schema.migrate import NewerDatabase, known, revisions

OLDEST_REDIS = (6, 2)


def require_ready(config: Settings) -> None:
    """Raises `UserError` with exit code 3 for the first missing thing that a worker needs."""
    check_redis(config.redis)
    check_database(config.database)


def redis_client(url: str) -> Redis:
    """Returns a client that fails quickly if the server is away."""
    retry = Retry(NoBackoff(), 0)
    try:
        return Redis.from_url(url, socket_connect_timeout=3.0, socket_timeout=3.0, retry=retry, decode_responses=True)
    except ValueError:
        hint = "Example: redis://:password@host:6379/0"
        shown = without_password(url)
        # Not chained, because the error's text may quote part of the password.
        raise UserError(f"STEPMILL_REDIS_URL is {shown!r}, which is no Redis address.", hint) from None


def check_redis(url: str) -> dict[str, str]:
    """Returns the server's INFO. Raises `UserError` if it is away, refuses the password or is too old."""
    with redis_client(url) as client:
        try:
            info: dict[str, str] = client.info("server")
        except AuthenticationError as error:
            hint = "Put it into STEPMILL_REDIS_URL: redis://:password@host:6379/0"
            raise UserError("Redis refuses the password, or wants one.", hint, EXIT_UNREACHABLE) from error
        except RedisError as error:
            hint = "`stepmill up` starts one; STEPMILL_REDIS_URL names another."
            message = f"Redis at {without_password(url)} cannot be reached: {one_line(error).rstrip('.')}."
            raise UserError(message, hint, EXIT_UNREACHABLE) from error
    version = str(info["redis_version"])
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_REDIS:
        raise UserError(f"Redis is {version}; 6.2 or newer is needed.", "Upgrade it.", EXIT_UNREACHABLE)
    return info


def check_database(url: str) -> None:
    """Raises `UserError` if the database is away, empty or of another version."""
    try:
        store = open_store(url, pool_size=1)
        try:
            have, need = revisions(store)
            newer = have is not None and not known(have)
        finally:
            store.dispose()
    except (SQLAlchemyError, ModuleNotFoundError) as error:
        said = one_line(getattr(error, "orig", None) or error)
        hint = "Start it, or correct STEPMILL_DATABASE_URL."
        raise UserError(
            f"The database {without_password(url)} cannot be used: {said}", hint, EXIT_UNREACHABLE
        ) from error
    if have is not None and newer:
        raise NewerDatabase(have)
    if have != need:
        state = "is empty" if have is None else f"has the schema of another version ({have}, not {need})"
        raise UserError(
            f"The database {without_password(url)} {state}.", "Run `stepmill db upgrade`.", EXIT_UNREACHABLE
        )
