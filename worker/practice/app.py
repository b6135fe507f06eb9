"""The practice model's routes: chat completions, models, and for tests control, ledger and stats."""

from __future__ import annotations

import json
import random
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from worker.practice.completion import complete
from worker.practice.config import Config
from worker.practice.delivery import deliver, send
from worker.practice.faults import Fault, FaultPlan
from worker.practice.http import Exchange, Request
from worker.practice.latency import latency
from worker.practice.ledger import Entry, Ledger
from worker.practice.limits import Gate
from worker.practice.quirks import QUIRKS
from worker.practice.quirks.play import Played, Stage, split_path
from worker.practice.refusals import Refusal, check, error_body
from worker.practice.tokens import PromptCounter

_Route = Callable[[Request, Exchange], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Call:
    """A chat request in progress: its body, prompt and cached tokens, and the faults and quirks that apply to it."""

    body: dict[str, Any]
    counted: tuple[int, int]
    entry: Entry
    fault: Fault | None
    played: Played


class PracticeModel:
    """The state of one practice model: settings, ledger, gates. Used within one event loop."""

    def __init__(self, config: Config) -> None:
        self.ledger = Ledger()
        self._configure(config)
        self._forget()
        self._routes: dict[tuple[str, str], _Route] = {
            ("POST", "/v1/chat/completions"): self._chat,
            ("GET", "/v1/models"): self._models,
            ("POST", "/control"): self._control,
            ("GET", "/control"): self._settings,
            ("GET", "/ledger"): self._ledger,
            ("GET", "/stats"): self._stats,
            ("GET", "/healthz"): self._health,
            ("GET", "/quirks"): self._quirks,
        }

    async def handle(self, request: Request, exchange: Exchange) -> None:
        """Answers one request. A path may begin with the quirks to apply: `/quirk/money/v1/…`."""
        _, path = split_path(request.path)
        route = self._routes.get((request.method, path.rstrip("/") or "/"))
        if route is None:
            await exchange.send_json(
                404, error_body("invalid_request_error", "not_found", f"There is no {request.method} {request.path}.")
            )
            return
        await route(request, exchange)

    def _configure(self, config: Config) -> None:
        self.config = config
        self._faults = FaultPlan(config.faults, config.script, config.seed)
        self._draw = latency(config.latency)

    def _forget(self) -> None:
        self.ledger.clear()
        self._gates: dict[str, Gate] = {}
        self._prompts = PromptCounter()
        self._source = random.Random(self.config.seed)
        self._stage = Stage(self.config.seed)

    def _gate(self, model: str) -> Gate:
        limits = self.config.limits_of(model)
        gate = self._gates.get(model)
        if gate is None or gate.limits != limits:
            gate = self._gates[model] = Gate(limits)
        return gate

    async def _chat(self, request: Request, exchange: Exchange) -> None:
        request_id = request.headers.get("x-request-id") or uuid.uuid4().hex
        try:
            body = json.loads(request.body)
            if not isinstance(body, dict) or not isinstance(body.get("messages"), list):
                raise ValueError("the body is not an object with messages")
        except ValueError as error:
            await exchange.send_json(
                400, error_body("invalid_request_error", "invalid_json", f"The request cannot be read: {error}.")
            )
            return
        counted = self._prompts.count(str(body.get("model")), body["messages"], body.get("tools"))
        names = (*self.config.quirks, *split_path(request.path)[0])
        try:
            played = self._stage.play(names, request, body, counted[0])
        except ValueError as error:
            await exchange.send_json(404, error_body("invalid_request_error", "unknown_quirk", f"{error}"))
            return
        entry = self.ledger.open(request_id, str(body.get("model")))
        entry.stream, entry.quirks = bool(body.get("stream")), list(names)
        entry.messages = body["messages"] if self.config.keep_messages else None
        fault = self._faults.next(entry.model, request.body.decode("utf-8", "replace"))
        try:
            await self._serve(request, exchange, Call(body, counted, entry, fault, played))
        finally:
            self.ledger.close(entry, exchange.gone and not exchange.closing)

    async def _serve(self, request: Request, exchange: Exchange, call: Call) -> None:
        entry = call.entry
        if (wire := call.played.refused()) is not None:
            entry.status, entry.outcome = wire.status, "quirk"
            await send(exchange, wire, entry)
            return
        refusal = check(request, call.body, self.config, call.counted[0], call.fault)
        gate = self._gate(entry.model)
        if refusal is None and (wait_s := gate.enter(time.monotonic(), call.counted[0])) is not None:
            refusal = Refusal.limited(wait_s)
        if refusal is not None:
            entry.status, entry.outcome = refusal.status, refusal.outcome
            await exchange.send_json(
                refusal.status, refusal.body, {"x-request-id": entry.request_id, **refusal.headers}
            )
            return
        try:
            await self._reply(exchange, call)
        finally:
            gate.leave()

    async def _reply(self, exchange: Exchange, call: Call) -> None:
        entry, fault = call.entry, call.fault
        completion = complete(call.body, self.config, call.counted, fault)
        call.played.change(completion)
        usage = completion.usage
        entry.prompt_tokens, entry.cached_tokens, entry.completion_tokens = usage.prompt, usage.cached, usage.completion
        entry.form, entry.untidy = completion.form, completion.untidy
        entry.finish_reason = completion.choice["finish_reason"]
        entry.outcome = fault.kind if fault else "ok"
        entry.reply = completion.message if self.config.keep_messages else None
        wait_s = self._draw(self._source) + (fault.seconds if fault and fault.kind == "slow" else 0.0)
        if not await exchange.pause(wait_s):
            return
        wire = None if call.body.get("stream") else call.played.written(completion)
        if wire is not None:
            entry.status = wire.status
            await send(exchange, wire, entry)
        else:
            await deliver(exchange, completion, call.body, entry, fault, self.config.stream_pieces)

    async def _models(self, request: Request, exchange: Exchange) -> None:
        data = [{"id": name, "object": "model", "created": 0, "owned_by": "practice"} for name in self.config.models]
        await exchange.send_json(200, {"object": "list", "data": data})

    async def _control(self, request: Request, exchange: Exchange) -> None:
        """Changes settings; `reset` also empties the ledger, the gates and the prompt cache."""
        try:
            changes = json.loads(request.body or b"{}")
            reset = changes.pop("reset", False)
            config = self.config.changed(changes)
        except (ValueError, TypeError, AttributeError) as error:
            await exchange.send_json(400, error_body("invalid_request_error", "invalid_setting", str(error)))
            return
        if changes:
            self._configure(config)
        if reset:
            self._forget()
        await exchange.send_json(200, self.config.as_json())

    async def _settings(self, request: Request, exchange: Exchange) -> None:
        await exchange.send_json(200, self.config.as_json())

    async def _ledger(self, request: Request, exchange: Exchange) -> None:
        after = int(request.query["after"]) if request.query.get("after", "").isdigit() else 0
        entries = self.ledger.listed(after, request.query.get("request_id"))
        await exchange.send_json(200, {"entries": entries})

    async def _stats(self, request: Request, exchange: Exchange) -> None:
        gates = {model: gate.as_json() for model, gate in self._gates.items()}
        await exchange.send_json(200, {**self.ledger.stats(), "models": gates})

    async def _quirks(self, request: Request, exchange: Exchange) -> None:
        await exchange.send_json(200, {"quirks": [quirk.as_json() for quirk in QUIRKS.values()]})

    async def _health(self, request: Request, exchange: Exchange) -> None:
        await exchange.send_json(200, {"status": "ok", "simulated": True})
