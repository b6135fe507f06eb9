"""Tool calls as models and their templates write them, one writer for each format, and what may stand around them."""
# ruff: noqa: E501  (a table of formats)

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

Args = dict[str, Any]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _named(name: str, args: Args, key: str = "arguments") -> str:
    return _json({"name": name, key: args})


def _text(value: Any) -> str:
    return value if isinstance(value, str) else _json(value)


def _elements(args: Args, form: str) -> str:
    return "".join(form.format(key=key, value=_text(value)) for key, value in args.items())


def _python(name: str, args: Args) -> str:
    return f"{name}({', '.join(f'{key}={_json(value)}' for key, value in args.items())})"


def _gemma(args: Args, quote: str) -> str:
    pairs = (
        f"{key}:{quote + value + quote if isinstance(value, str) else _json(value)}" for key, value in args.items()
    )
    return "{" + ",".join(pairs) + "}"


FORMATS: dict[str, Callable[[str, Args], str]] = {
    "qwen": lambda n, a: f"<tool_call>\n{_named(n, a)}\n</tool_call>",
    "qwen coder": lambda n, a: (
        f"<tool_call>\n<function={n}>\n" + _elements(a, "<parameter={key}>\n{value}\n</parameter>\n") + "</function>\n</tool_call>"
    ),
    "seed": lambda n, a: (
        f"<seed:tool_call><function={n}>" + _elements(a, "<parameter={key}>{value}</parameter>") + "</function></seed:tool_call>"
    ),
    "kimi": lambda n, a: (
        f"<|tool_calls_section_begin|><|tool_call_begin|>functions.{n}:0<|tool_call_argument_begin|>{_json(a)}"
        "<|tool_call_end|><|tool_calls_section_end|>"
    ),
    "mistral list": lambda n, a: f"[TOOL_CALLS] [{_named(n, a)}]",
    "mistral args": lambda n, a: f"[TOOL_CALLS]{n}[ARGS]{_json(a)}",
    "mistral id": lambda n, a: f"[TOOL_CALLS]{n}[CALL_ID]a1b2c3d4e[ARGS]{_json(a)}",
    "deepseek v3": lambda n, a: (
        f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>{n}\n```json\n{_json(a)}\n```"
        "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
    ),
    "deepseek v3.1": lambda n, a: (
        f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>{n}<｜tool▁sep｜>{_json(a)}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
    ),
    "dsml": lambda n, a: (
        f'<｜DSML｜function_calls>\n<｜DSML｜invoke name="{n}">\n'
        + _elements(a, '<｜DSML｜parameter name="{key}" string="true">{value}</｜DSML｜parameter>\n')
        + "</｜DSML｜invoke>\n</｜DSML｜function_calls>"
    ),
    "glm": lambda n, a: (
        f"<tool_call>{n}\n" + _elements(a, "<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>\n") + "</tool_call>"
    ),
    "minimax": lambda n, a: (
        f'<minimax:tool_call>\n<invoke name="{n}">\n'
        + _elements(a, '<parameter name="{key}">{value}</parameter>\n')
        + "</invoke>\n</minimax:tool_call>"
    ),
    "anthropic": lambda n, a: (
        f'<function_calls>\n<invoke name="{n}">\n'
        + _elements(a, '<parameter name="{key}">{value}</parameter>\n')
        + "</invoke>\n</function_calls>"
    ),
    "step": lambda n, a: (
        f'<steptml:toolcall><steptml:invoke name="{n}">'
        + _elements(a, '<steptml:parameter name="{key}">{value}</steptml:parameter>')
        + "</steptml:invoke></steptml:toolcall>"
    ),
    "function gemma": lambda n, a: f"<start_function_call>call:{n}{_gemma(a, '<escape>')}<end_function_call>",
    "gemma 4": lambda n, a: f"<|tool_call>call:{n}" + _gemma(a, '<|"|>') + "<tool_call|>",
    "lfm2": lambda n, a: f"<|tool_call_start|>[{_python(n, a)}]<|tool_call_end|>",
    "harmony": lambda n, a: (
        f"<|start|>assistant<|channel|>commentary to=functions.{n} <|constrain|>json<|message|>{_json(a)}<|call|>"
    ),
    "harmony, recipient first": lambda n, a: (
        f"<|start|>assistant to=functions.{n}<|channel|>commentary <|constrain|>json<|message|>{_json(a)}<|call|>"
    ),
    "llama tag": lambda n, a: f"<|python_tag|>{_named(n, a, 'parameters')}<|eom_id|>",
    "llama function": lambda n, a: f"<function={n}>{_json(a)}</function>",
    "phi": lambda n, a: f"<|tool_call|>[{_named(n, a)}]<|/tool_call|>",
    "command r": lambda n, a: f'<|START_ACTION|>[{{"tool_call_id": "0", "tool_name": "{n}", "parameters": {_json(a)}}}]<|END_ACTION|>',
    "internlm": lambda n, a: f"<|action_start|><|plugin|>\n{_named(n, a, 'parameters')}<|action_end|>",
    "functionary": lambda n, a: f"<|from|>assistant\n<|recipient|>{n}\n<|content|>{_json(a)}",
    "nemotron": lambda n, a: f"<TOOLCALL>[{_named(n, a)}]</TOOLCALL>",
    "jamba": lambda n, a: f"<tool_calls>[\n{_named(n, a)}\n]</tool_calls>",
    "hunyuan": lambda n, a: (
        f"<tool_calls><tool_call>{n}<tool_sep>"
        + _elements(a, "<arg_key>{key}</arg_key><arg_value>{value}</arg_value>")
        + "</tool_call></tool_calls>"
    ),
    "lm studio": lambda n, a: f"[TOOL_REQUEST]\n{_named(n, a)}\n[END_TOOL_REQUEST]",
    "longcat": lambda n, a: f"<longcat_tool_call>{_named(n, a)}</longcat_tool_call>",
    "function call": lambda n, a: f"<function_call>{_named(n, a)}</function_call>",
    "functools": lambda n, a: f"functools[{_named(n, a)}]",
}  # fmt: skip
