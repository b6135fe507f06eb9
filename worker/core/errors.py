"""Every error of the project with its culprit, which decides what happens next.

StepmillError                     culprit     what follows
├── UserError                     user        the command or request is refused, one sentence and one hint
└── CallEnded                                 a model call that gave no reply
    ├── Stopped                   stopped     by cancel, hand-back or the run's deadline; nothing is wrong
    ├── TransientError            transient   tried again after a delay
    │   ├── RateLimited                       429: the endpoint pauses for the fleet
    │   ├── EndpointBusy                      503, 529: likewise
    │   ├── EndpointFailed                    502, 504, 408, 409, 425, or a 500 that says it is temporary
    │   ├── Unreachable                       no connection could be made
    │   ├── ConnectionLost                    the connection broke, or the reply was cut
    │   ├── BrokenOff                         the provider broke off its reply and said so
    │   ├── UnknownError                      an unrecognised error: repeated twice at most
    │   ├── BadReply                          a 200 that is not a chat completion
    │   └── ModelTimeout                      the call's total time limit passed
    ├── RunError                  run         ends the run with its code
    │   ├── ContextOverflow                   the conversation is too long (folded once, then ends)
    │   ├── ContentFilter                     the provider refused the content
    │   ├── OutputLimitTooLarge               `max_output_tokens` alone does not fit the model
    │   └── ModelRejected                     the provider refused the request and gave a reason
    │       └── ToolsUnsupported              … because the endpoint does not support tool calls
    └── OperatorError             operator    the endpoint pauses until someone acts; waiting runs do not fail
        ├── WrongKey                          401
        ├── AccessDenied                      403
        ├── UnknownModel                      404: the model, or the address, does not exist
        └── QuotaExhausted                    402, or another status whose text says that money or quota ran out
"""

from __future__ import annotations

from enum import StrEnum

from worker.core.records import Usage


class ErrorCode(StrEnum):
    """Why a run failed. The list is closed: results and filters rely on it."""

    MAX_STEPS = "max_steps"
    DEADLINE = "deadline"
    BUDGET = "budget"
    MALFORMED_REPLIES = "malformed_replies"
    TOOL_LOOP = "tool_loop"
    CONTEXT_OVERFLOW = "context_overflow"
    CONTENT_FILTER = "content_filter"
    OUTPUT_LIMIT = "output_limit"
    MODEL_REJECTED = "model_rejected"
    POISONED = "poisoned"
    INTERNAL = "internal"


class Culprit(StrEnum):
    """Whose fault an error is."""

    USER = "user"
    OURS = "ours"
    STOPPED = "stopped"
    TRANSIENT = "transient"
    RUN = "run"
    OPERATOR = "operator"


class StopReason(StrEnum):
    """Why a worker ended a model call early."""

    CANCEL = "cancel"
    HAND_BACK = "hand_back"
    DEADLINE = "deadline"


class StepmillError(Exception):
    """Base class of every error here. `message` is one sentence for a person, without secrets."""

    culprit: Culprit = Culprit.OURS

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class UserError(StepmillError):
    """Wrong use (exit code 2) or an unreachable service (3): one sentence, and a hint on what to do."""

    culprit = Culprit.USER

    def __init__(self, message: str, hint: str = "", exit_code: int = 2) -> None:
        super().__init__(message)
        self.hint = hint
        self.exit_code = exit_code


class CallEnded(StepmillError):
    """A model call without a usable reply.

    `usage` is what the call used: zeros if it was certainly refused before any work, None if unknown.
    `status` is the HTTP status, or None.
    """

    def __init__(self, message: str, *, usage: Usage | None = None, status: int | None = None) -> None:
        super().__init__(message)
        self.usage = usage
        self.status = status


class Stopped(CallEnded):
    """The call was ended by its worker: its connection is closed and its reply, if any, is lost."""

    culprit = Culprit.STOPPED

    def __init__(self, reason: StopReason, *, usage: Usage | None = None) -> None:
        super().__init__(f"the model call was stopped ({reason.value})", usage=usage)
        self.reason = reason


class TransientError(CallEnded):
    """An error worth retrying. `retry_after_s` is the wait that the provider asked for, bounded, or None."""

    culprit = Culprit.TRANSIENT
    pauses_endpoint: bool = False
    """True if the whole fleet should avoid the endpoint for a while."""

    def __init__(
        self,
        message: str,
        *,
        retry_after_s: float | None = None,
        usage: Usage | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(message, usage=usage, status=status)
        self.retry_after_s = retry_after_s


class RateLimited(TransientError):
    """429: too many requests or tokens for now."""

    pauses_endpoint = True


class EndpointBusy(TransientError):
    """503 or 529: overloaded, or still loading its model."""

    pauses_endpoint = True


class EndpointFailed(TransientError):
    """A failure known to be temporary: 502, 504, 408, 409, 425, or a 500 that says so."""


class Unreachable(TransientError):
    """No connection could be made: refused, unknown host, TLS failure, connect timeout."""


class ConnectionLost(TransientError):
    """The connection broke after the request was sent, or the reply was cut."""


class BrokenOff(TransientError):
    """The provider ended its reply before it was complete; `finish_reason` or an error next to the message says so.

    The partial reply is neither an answer nor an action. `usage` is what the endpoint reported for it.
    """


class UnknownError(TransientError):
    """An unrecognised error: an unusual 4xx, or a 500 without a reason known to be temporary.

    Repeated at most twice for one request while the endpoint answers others; otherwise the endpoint pauses.
    """


class BadReply(TransientError):
    """The endpoint answered 200 with something that is not a chat completion."""


class ModelTimeout(TransientError):
    """The call's total time limit passed, even if the endpoint was still sending."""


class RunError(CallEnded):
    """Repeating the call would not help; the run ends with `code`."""

    culprit = Culprit.RUN
    code: ErrorCode = ErrorCode.MODEL_REJECTED


class ContextOverflow(RunError):
    """The conversation plus the output limit do not fit the model's context."""

    code = ErrorCode.CONTEXT_OVERFLOW


class ContentFilter(RunError):
    """The provider's filter refused the conversation or the reply."""

    code = ErrorCode.CONTENT_FILTER


class OutputLimitTooLarge(RunError):
    """The prompt fits, but not with `max_output_tokens`: a lower one helps.

    `limit` is the most output tokens that the endpoint accepts for this prompt, None if it does not say.
    """

    code = ErrorCode.OUTPUT_LIMIT

    def __init__(
        self, message: str, *, limit: int | None = None, usage: Usage | None = None, status: int | None = None
    ) -> None:
        super().__init__(message, usage=usage, status=status)
        self.limit = limit


class ModelRejected(RunError):
    """The provider refused the request as it is and gave a reason (400, 422)."""

    code = ErrorCode.MODEL_REJECTED


class ToolsUnsupported(ModelRejected):
    """The endpoint or model does not support tool calls; an agent with a text dialect works there."""


class OperatorError(CallEnded):
    """An operator has to act: the endpoint pauses with the reason, and runs wait for it without failing.

    `retry_after_s` is when it may pass by itself, as a daily free limit does, else None. `unsure`: only the status says
    so, or only the text under an unrelated status; if others are answered meanwhile, this request is at fault.
    """

    culprit = Culprit.OPERATOR

    def __init__(
        self,
        message: str,
        *,
        retry_after_s: float | None = None,
        usage: Usage | None = None,
        status: int | None = None,
        unsure: bool = False,
    ) -> None:
        super().__init__(message, usage=usage, status=status)
        self.retry_after_s = retry_after_s
        self.unsure = unsure


class WrongKey(OperatorError):
    """401: the key is missing, wrong or revoked."""


class AccessDenied(OperatorError):
    """403: the key may not use this model, region or endpoint."""


class UnknownModel(OperatorError):
    """404: the endpoint does not know the model, or the address is not a chat completions endpoint."""


class QuotaExhausted(OperatorError):
    """The account has no money or quota left: pay, or wait if `retry_after_s` is set."""
