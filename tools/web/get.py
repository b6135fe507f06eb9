"""One limited GET: follows and checks redirects itself; limits size, decompression and time."""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

import httpcore2
import httpx2

from tools.kit.errors import ToolError
from tools.web.addresses import Guard
from tools.web.guarded import GuardedBackend

_SCHEME = re.compile(r"[a-zA-Z][\w+.-]*:(?!\d)")
"""Does not match `host:80`."""
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_HEADERS = (("Accept-Encoding", "gzip, deflate"), ("User-Agent", "Mozilla/5.0 (compatible; stepmill)"))
_GZIP_MAGIC = b"\x1f\x8b"
"""How another member of a gzip answer begins."""
_HEADROOM_BYTES = 65_536
_TIMEOUTS = {"connect": 5.0, "read": 10.0, "write": 5.0, "pool": 5.0}


@dataclass(frozen=True, slots=True)
class GetLimits:
    """Limits of one GET with all its redirects: bytes after decompression, seconds in total."""

    body_bytes: int = 5 * 2**20
    time_s: float = 20.0
    redirects: int = 5


@dataclass(frozen=True, slots=True)
class Fetched:
    """An answer. `url` is the final address; `cut` if the body was longer than allowed."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    cut: bool = False

    @property
    def media_type(self) -> str:
        """The media type in lower case, without parameters; "" if not given."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


async def get(
    url: str, guard: Guard, limits: GetLimits, accept: str = "*/*", authorization: str | None = None
) -> Fetched:
    """Returns the answer, whatever its status; sends `authorization` to every host that it is redirected to.

    Raises ToolError: a refused or malformed address, no answer in time, too many redirects."""
    backend = GuardedBackend(guard)
    headers = [*_HEADERS, ("Accept", accept), *([("Authorization", authorization)] if authorization else [])]
    try:
        async with asyncio.timeout(limits.time_s), httpcore2.AsyncConnectionPool(network_backend=backend) as pool:
            target = checked_url(url)
            for _ in range(limits.redirects + 1):
                answer = await _get_once(pool, target, headers, limits)
                location = answer.headers.get("location")
                if answer.status not in _REDIRECTS or not location:
                    return answer
                target = _checked(target.join(location))
    except TimeoutError:
        raise ToolError(f"{_host(url)} did not answer within {limits.time_s:.0f} s.", retryable=True) from None
    except httpcore2.TimeoutException:
        raise ToolError(f"{_host(url)} did not answer in time.", retryable=True) from None
    except httpx2.InvalidURL as error:
        raise ToolError(f"{_host(url)} redirects to something that is no address ({error}). Use another.") from error
    except (httpcore2.NetworkError, httpcore2.ProtocolError, OSError) as error:
        raise ToolError(
            f"The connection to {_host(url)} failed ({error or type(error).__name__}).", retryable=True
        ) from error
    raise ToolError(f"{url} redirects more than {limits.redirects} times. Use another address.")


def checked_url(text: str) -> httpx2.URL:
    """Returns an http(s) address with a host and no user name; https if no scheme is written. Raises ToolError."""
    try:
        return _checked(httpx2.URL(text.strip() if _SCHEME.match(text.strip()) else f"https://{text.strip()}"))
    except (httpx2.InvalidURL, ValueError) as error:
        raise ToolError(f"This address cannot be read ({error}). Write it like https://example.org/page.") from error


def _checked(url: httpx2.URL) -> httpx2.URL:
    if url.scheme not in ("http", "https") or not url.host:
        raise ToolError("Only http and https addresses with a host can be fetched.")
    if url.userinfo:
        raise ToolError("Addresses with a user name or password in them are not fetched. Write it without.")
    return url


def _host(url: str) -> str:
    try:
        return httpx2.URL(url).host or url
    except (httpx2.InvalidURL, ValueError):
        return url


async def _get_once(
    pool: httpcore2.AsyncConnectionPool, url: httpx2.URL, common: list[tuple[str, str]], limits: GetLimits
) -> Fetched:
    headers = [("Host", url.netloc.decode("ascii")), *common]
    target = httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
    async with pool.stream("GET", target, headers=headers, extensions={"timeout": _TIMEOUTS}) as answer:
        found = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in answer.headers}
        if answer.status in _REDIRECTS and found.get("location"):
            return Fetched(str(url), answer.status, found, b"")
        body, cut = await _bounded(_decoded(answer.aiter_stream(), found, limits.body_bytes), limits.body_bytes)
    return Fetched(str(url), answer.status, found, body, cut)


async def _decoded(chunks: AsyncIterator[bytes], headers: Mapping[str, str], limit: int) -> AsyncIterator[bytes]:
    """Decompresses in small pieces, so that a bomb is noticed before it is in memory."""
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if encoding in ("identity", ""):
        async for chunk in chunks:
            yield chunk
        return
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise ToolError(f"The answer is compressed in a way that is not known ({encoding}). Use another address.")
    taken = 0
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)
    async for chunk in chunks:
        taken += len(chunk)
        if taken > limit + _HEADROOM_BYTES:  # more than a body within its limit can need
            raise ToolError("The answer is damaged: most of it unpacks to nothing. Use another address.")
        while chunk:
            if unpacker.eof:
                if not _GZIP_MAGIC.startswith(chunk[:2]):
                    return  # anything after the end is not part of the answer
                unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)
            try:
                yield unpacker.decompress(chunk, min(65536, limit + 1))
            except zlib.error as error:
                raise ToolError("The answer is damaged: it cannot be decompressed.", retryable=True) from error
            chunk = unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail


async def _bounded(chunks: AsyncIterator[bytes], limit: int) -> tuple[bytes, bool]:
    body = bytearray()
    async for chunk in chunks:
        body += chunk
        if len(body) > limit:
            return bytes(body[:limit]), True
    return bytes(body), False
