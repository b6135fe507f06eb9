"""What the server answers before there is a request: the same body as everywhere."""

from __future__ import annotations

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from api.problems import refusal


class Wire(HttpToolsProtocol):
    """Refuses bytes that are no HTTP as the rest of the API refuses."""

    def send_400_response(self, msg: str) -> None:
        refused = refusal(400, "bad_request", "This is not understood as HTTP.", "See /docs for what there is.")
        headers = [*refused.raw_headers, (b"connection", b"close")]
        lines = [b"HTTP/1.1 400 Bad Request", *(name + b": " + value for name, value in headers), b"", b""]
        self.transport.write(b"\r\n".join(lines) + bytes(refused.body))
        self.transport.close()
