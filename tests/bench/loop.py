"""The bare minimum: one process, one asyncio loop, the openai client, nothing kept.

`python -m tests.bench.loop URL RUNS AT_ONCE` prints the model calls a second.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from typing import Any

import openai

from tools.kit.formula import evaluate, show

RULES = "Tool: calculator(expression). Write Thought, Action and Action Input, or Thought and Answer."
ACTION_INPUT = re.compile(r"Action Input: (.*)")


async def run(client: openai.AsyncOpenAI, slots: asyncio.Semaphore) -> int:
    """One question until its answer; returns how many model calls that took."""
    messages: list[Any] = [{"role": "system", "content": RULES}, {"role": "user", "content": "What is it?"}]
    async with slots:
        for calls in range(1, 20):
            reply = await client.chat.completions.create(model="bench", messages=messages, temperature=0)
            text = reply.choices[0].message.content or ""
            if "Answer:" in text:
                return calls
            found = ACTION_INPUT.search(text)
            assert found, text
            observation = show(evaluate(json.loads(found.group(1))["expression"]))
            messages.append({"role": "assistant", "content": text})
            messages.append({"role": "user", "content": f"Observation: {observation}"})
    raise AssertionError("the model never answered")


async def main(base_url: str, count: int, at_once: int) -> None:
    slots = asyncio.Semaphore(at_once)
    async with openai.AsyncOpenAI(base_url=base_url, api_key="bench", max_retries=0) as client:
        await run(client, slots)  # connections and imports are there
        began = time.perf_counter()
        calls = await asyncio.gather(*(run(client, slots) for _ in range(count)))
    print(sum(calls) / (time.perf_counter() - began))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
