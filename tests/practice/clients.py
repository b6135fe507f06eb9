"""The openai client, set as the engine sets it: no retries, a short time limit."""

from __future__ import annotations

from openai import OpenAI

from worker.practice import Control


def client_of(control: Control, api_key: str = "practice", timeout_s: float = 5.0) -> OpenAI:
    return OpenAI(base_url=control.base_url, api_key=api_key, max_retries=0, timeout=timeout_s)
