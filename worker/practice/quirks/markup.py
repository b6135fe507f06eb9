"""Tool calls in models' own call formats, as a server leaves them in the text if it does not parse them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from worker.practice.records import Call

Writer = Callable[[Call], str]


def _args(call: Call) -> str:
    return json.dumps(call.args, ensure_ascii=False)


def _object(call: Call, arguments: str = "arguments") -> str:
    return json.dumps({"name": call.tool, arguments: call.args}, ensure_ascii=False)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _each(call: Call, line: Callable[[str, Any], str], between: str = "\n") -> str:
    return between.join(line(name, value) for name, value in call.args.items())


def _python(call: Call) -> str:
    return f"{call.tool}({_each(call, lambda name, value: f'{name}={value!r}', ', ')})"


def _qwen_coder(call: Call) -> str:
    inner = _each(call, lambda name, value: f"<parameter={name}>\n{_plain(value)}\n</parameter>")
    return f"<tool_call>\n<function={call.tool}>\n{inner}\n</function>\n</tool_call>"


def _kimi(call: Call) -> str:
    one = f"<|tool_call_begin|>functions.{call.tool}:0<|tool_call_argument_begin|>{_args(call)}<|tool_call_end|>"
    return f"<|tool_calls_section_begin|>{one}<|tool_calls_section_end|>"


def _deepseek(call: Call) -> str:
    one = f"<｜tool▁call▁begin｜>{call.tool}<｜tool▁sep｜>{_args(call)}<｜tool▁call▁end｜>"
    return f"<｜tool▁calls▁begin｜>{one}<｜tool▁calls▁end｜>"


def _deepseek_v3(call: Call) -> str:
    one = f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{call.tool}\n```json\n{_args(call)}\n```<｜tool▁call▁end｜>"
    return f"<｜tool▁calls▁begin｜>{one}<｜tool▁calls▁end｜>"


def _dsml(call: Call) -> str:
    def line(name: str, value: Any) -> str:
        text = str(isinstance(value, str)).lower()
        return f'<｜DSML｜parameter name="{name}" string="{text}">{_plain(value)}</｜DSML｜parameter>'

    inner = f'<｜DSML｜invoke name="{call.tool}">\n{_each(call, line)}\n</｜DSML｜invoke>'
    return f"<｜DSML｜function_calls>\n{inner}\n</｜DSML｜function_calls>"


def _glm(call: Call) -> str:
    inner = _each(call, lambda name, value: f"<arg_key>{name}</arg_key>\n<arg_value>{_plain(value)}</arg_value>")
    return f"<tool_call>{call.tool}\n{inner}\n</tool_call>"


def _invoke(call: Call) -> str:
    inner = _each(call, lambda name, value: f'<parameter name="{name}">{_plain(value)}</parameter>')
    return f'<invoke name="{call.tool}">\n{inner}\n</invoke>'


def _braced(call: Call, quote: str) -> str:
    return "{" + _each(call, lambda name, value: f"{name}:{quote}{_plain(value)}{quote}", ",") + "}"


MARKUP: Mapping[str, tuple[str, Writer]] = {
    "hermes": ("Hermes and Qwen", lambda call: f"<tool_call>\n{_object(call)}\n</tool_call>"),
    "qwen-coder": ("Qwen Coder", _qwen_coder),
    "kimi": ("Kimi", _kimi),
    "mistral": ("Mistral", lambda call: f"[TOOL_CALLS][{_object(call)}]"),
    "mistral-args": ("Mistral since version 11", lambda call: f"[TOOL_CALLS]{call.tool}[ARGS]{_args(call)}"),
    "deepseek": ("DeepSeek V3.1", _deepseek),
    "deepseek-fenced": ("DeepSeek V3 and R1", _deepseek_v3),
    "deepseek-dsml": ("DeepSeek V3.2 and later", _dsml),
    "glm": ("GLM", _glm),
    "minimax": ("MiniMax", lambda call: f"<minimax:tool_call>\n{_invoke(call)}\n</minimax:tool_call>"),
    "gemma": (
        "FunctionGemma",
        lambda call: f"<start_function_call>call:{call.tool}{_braced(call, '<escape>')}<end_function_call>",
    ),
    "gemma-4": (
        "Gemma 4",
        lambda call: f"<|tool_call>call:{call.tool}{_braced(call, '<|' + chr(34) + '|>')}<tool_call|>",
    ),
    "lfm2": ("LFM2", lambda call: f"<|tool_call_start|>[{_python(call)}]<|tool_call_end|>"),
    "invoke": ("Claude", lambda call: f"<function_calls>\n{_invoke(call)}\n</function_calls>"),
    "harmony": (
        "gpt-oss",
        lambda call: (
            f"<|channel|>commentary to=functions.{call.tool} <|constrain|>json<|message|>{_args(call)}<|call|>"
        ),
    ),
    "llama": ("Llama 3", lambda call: f"<|python_tag|>{_object(call, 'parameters')}"),
    "llama-function": ("Llama 3 and Groq", lambda call: f"<function={call.tool}>{_args(call)}</function>"),
    "granite": ("Granite and Phi", lambda call: f"<|tool_call|>[{_object(call)}]"),
}
"""By format: the models that use it, and the function that writes a call."""
