"""Assembles what is sent to the model: the fixed part first, so that providers' prompt caches hit."""

from __future__ import annotations

from collections.abc import Sequence

from worker.core.records import Dialect, Example, Message, ToolView, Turn

ROLE = (
    "You answer questions step by step. In each step you either use a tool and wait for its result, or give the answer."
)
RULES = """\
Rules:
- Facts that can change, and every calculation, come from a tool. Never invent a result, and never write one yourself.
- When a tool fails or finds nothing, read what it says and try another input or another tool.
- When the tools cannot answer the question, say so, and say what you did find out.
- Name your sources with their links where a tool gave them.
- The answer stands alone: complete, no longer than it needs to be, in the language of the question."""


def system_prompt(dialect: Dialect, tools: Sequence[ToolView], agent_instructions: str = "") -> str:
    """The system message of an agent: role, the agent's own instructions, tools and format, rules."""
    parts = (ROLE, agent_instructions.strip(), dialect.instructions(tools), RULES)
    return "\n\n".join(part for part in parts if part)


def messages(
    dialect: Dialect,
    system: str,
    examples: Sequence[Example],
    question: str,
    turns: Sequence[Turn],
    final_notice: str | None = None,
) -> list[Message]:
    """The whole conversation of a step. `final_notice` tells the model to answer now; it comes last."""
    found: list[Message] = [{"role": "system", "content": system}]
    for example in examples:
        found += dialect.example(example)
    found.append({"role": "user", "content": question})
    for turn in turns:
        found += dialect.transcript(turn)
    _renumber(found)
    if final_notice:
        _say_last(found, final_notice)
    return found


def _say_last(found: list[Message], notice: str) -> None:
    """Adds to the user's last message, since some chat templates refuse two of them in a row."""
    last = found[-1]
    if last["role"] == "user":
        found[-1] = {**last, "content": f"{last['content']}\n\n{notice}"}
    else:
        found.append({"role": "user", "content": notice})


def _renumber(found: list[Message]) -> None:
    """Gives every tool call of the conversation an id of its own; models repeat `call_1` in each step."""
    seen: set[str] = set()
    renamed: dict[str, str] = {}
    for message in found:
        if message.get("tool_calls"):
            renamed = {call["id"]: _unused(call["id"], seen) for call in message["tool_calls"]}
            message["tool_calls"] = [{**call, "id": renamed[call["id"]]} for call in message["tool_calls"]]
        elif message["role"] == "tool":
            message["tool_call_id"] = renamed.get(message["tool_call_id"], message["tool_call_id"])


def _unused(wanted: str, seen: set[str]) -> str:
    candidate, number = wanted, 2
    while candidate in seen:
        candidate, number = f"{wanted}_{number}", number + 1
    seen.add(candidate)
    return candidate
