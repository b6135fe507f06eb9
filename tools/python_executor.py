"""Runs a program that a model wrote, in isolation."""

from __future__ import annotations

import re
import signal
from dataclasses import replace

from tools.base import File, ToolContext, ToolError, tool
from tools.config import ToolSettings
from tools.isolation.launching import Launch, Outcome, run_isolated
from tools.isolation.limits import ResourceLimits
from tools.isolation.mechanism import REMEDY, command_prefix_for, mechanism, why_none

TIME_S = 55.0
_FENCED = re.compile(r"\s*```[a-zA-Z]*\n(.*?)\n?```\s*", re.DOTALL)
_NO_NETWORK = ("_socket.socket", "urlopen error", "name resolution", "socket.gaierror", "ConnectionError")
_NOTHING = "The program ran to its end and printed nothing. Print what you want to see."


@tool(group="python", timeout_s=60.0, idempotent=True, code_language="python")
def python_executor(code: str, context: ToolContext) -> str | list[str | File]:
    """Runs a Python program and tells what it printed and the value of its last expression.

    Use it for computing, data and charts. numpy, pandas and matplotlib are at hand; there is no network and no other
    file than those the program makes. Each call starts afresh: nothing is kept from earlier calls. Charts
    (`plt.show()`) and files written to the working directory are kept and linked.

    Args:
        code: The whole program.
    """
    setting = ToolSettings.of(context.settings).python_isolation
    name = mechanism(setting)
    if name is None:
        raise ToolError(f"Python cannot be run here, since no isolation works ({why_none(setting)}). {REMEDY}")
    fenced = _FENCED.fullmatch(code)
    limits = replace(ResourceLimits(), time_s=min(TIME_S, context.remaining_s()))
    launch = Launch(name, fenced[1] if fenced else code, limits, command_prefix_for(name))
    outcome = run_isolated(launch, context.stopped)
    _raise_if_ended(outcome, limits)
    files = [File(name, data) for name, data in outcome.files]
    text = "\n".join(_lines(outcome))
    return [text or "Done.", *files] if files else text or _NOTHING


def _raise_if_ended(outcome: Outcome, limits: ResourceLimits) -> None:
    if outcome.failure:
        raise ToolError(f"The program was not run: isolation failed ({outcome.failure}).", retryable=True)
    if outcome.stopped is None:
        return
    advice = {
        "out of time": f"It ran longer than {limits.time_s:.0f} s. Make it do less, or use a faster way.",
        "out of memory": f"It used more than {limits.tree_memory // 2**20} MiB. Work on less at a time.",
        "too many processes": f"It started more than {limits.processes} processes.",
    }
    said = f" It had printed:\n{_printed(outcome)}" if outcome.output.strip() else ""
    raise ToolError(f"The program was stopped: {outcome.stopped}. {advice.get(outcome.stopped, '')}".rstrip() + said)


def _lines(outcome: Outcome) -> list[str]:
    lines = [_printed(outcome)] if outcome.output.strip() else []
    if outcome.value is not None:
        lines.append(f"Value of the last expression: {outcome.value}" if lines else outcome.value)
    if outcome.error:
        lines.append(outcome.error + _hint(outcome.error))
    elif not outcome.finished:
        lines.append(_sudden_end(outcome.exit_code))
    if outcome.files_left_out:
        lines.append(f"Files not kept (too many or too large): {', '.join(outcome.files_left_out)}")
    return lines


def _printed(outcome: Outcome) -> str:
    text = outcome.output.rstrip()
    dropped = outcome.output_dropped_bytes
    return f"{text}\n[… {dropped:,} more bytes of output were dropped]" if dropped else text


def _hint(error: str) -> str:
    if any(sign in error for sign in _NO_NETWORK):
        return "\nThere is no network here. Fetch the data with another tool and write it into the program."
    if "ModuleNotFoundError" in error:
        return "\nOnly the standard library, numpy, pandas, matplotlib and what they need are installed here."
    if error.rstrip().endswith("MemoryError"):
        return "\nThe program needs too much memory. Work on less at a time."
    return ""


def _sudden_end(exit_code: int | None) -> str:
    if exit_code is None:
        return "The program ended without a word; nothing is known of its result."
    if exit_code in (-signal.SIGXCPU, -signal.SIGKILL):
        return "The program was killed: it used too much computing time or memory. Make it do less."
    if exit_code < 0:
        return f"The program crashed with {signal.Signals(-exit_code).name}."
    return f"The program ended itself with exit code {exit_code} before its end."
