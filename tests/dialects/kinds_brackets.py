"""Replies in react_brackets as models write them, and how each should be read."""
# ruff: noqa: E501  (a table reads best with one sample to a line)

from __future__ import annotations

from tests.dialects.outcomes import BAD, Wanted, act, ans

calc = act("calculator", "2 + 2")


def py(text: str) -> Wanted:
    return act("python_executor", text)


KINDS: list[tuple[str, str, Wanted]] = [
    ("plain", "Thought: t\nAction: calculator[[2 + 2]]", calc),
    ("space", "Thought: t\nAction: calculator [[ 2 + 2 ]]", calc),
    ("next line", "Thought: t\nAction:\ncalculator[[2 + 2]]", calc),
    ("backticks", "Thought: t\nAction: `calculator[[2 + 2]]`", calc),
    ("backticked name", "Thought: t\nAction: `calculator`[[2 + 2]]", calc),
    ("bold", "**Thought:** t\n**Action:** calculator[[2 + 2]]", calc),
    ("bold all", "Thought: t\n**Action: calculator[[2 + 2]]**", calc),
    ("case", "Thought: t\nAction: Calculator[[2 + 2]]", calc),
    ("full stop", "Thought: t\nAction: calculator[[2 + 2]].", calc),
    ("observation", "Thought: t\nAction: calculator[[2 + 2]]\nObservation: 4\nFinal Answer: 4", calc),
    ("observation same line", "Thought: t\nAction: calculator[[2 + 2]] Observation: 4", calc),
    ("arrow result", "Thought: t\nAction: calculator[[2 + 2]] -> 4", calc),
    ("token", "Thought: t\nAction: calculator[[2 + 2]]<|im_end|>", calc),
    ("two lines of actions", "Action: calculator[[2 + 2]]\nAction: web_search[[a]]", calc),
    ("bare line", "Thought: t\ncalculator[[2 + 2]]", calc),
    ("bare only", "calculator[[2 + 2]]", calc),
    ("inline", "Thought: t Action: calculator[[2 + 2]]", calc),
    ("fenced", "Thought: t\n```\nAction: calculator[[2 + 2]]\n```", calc),
    ("prefix", "Thought: t\nAction: functions.calculator[[2 + 2]]", calc),
    ("numbered", "Thought 1: t\nAction 1: calculator[[2 + 2]]", calc),
    ("chinese", "思考：算\n行动：calculator[[2 + 2]]", calc),
    ("quoted", 'Thought: t\nAction: calculator[["2 + 2"]]', calc),
    ("object", 'Thought: t\nAction: calculator[[{"expression": "2 + 2"}]]', calc),
    ("classic form", "Thought: t\nAction: calculator\nAction Input: 2 + 2", calc),
    ("thought mentions", "Thought: try web_search[[b]]?\nNo.\nAction: calculator[[2 + 2]]", calc),
    ("think", "<think>Action: web_search[[b]]</think>\nAction: calculator[[2 + 2]]", calc),
    ("index", "Action: python_executor[[print(a[b[0]])]]", py("print(a[b[0]])")),
    ("ends with index", "Action: python_executor[[a[0]]]", py("a[0]")),
    ("ends with nested index", "Action: python_executor[[a[b[0]]]]", py("a[b[0]]")),
    ("nested list", "Action: python_executor[[x = [[1, 2], [3, 4]]]]", py("x = [[1, 2], [3, 4]]")),
    ("list over lines", "Action: python_executor[[\nx = [[1],\n     [2]]\nprint(x[0][0])\n]]", py("x = [[1],\n     [2]]\nprint(x[0][0])")),
    ("bracket in quotes", "Action: python_executor[[print('[')]]", py("print('[')")),
    ("closing in quotes", "Action: python_executor[[print(']]')]]", py("print(']]')")),
    ("label in code", "Action: python_executor[[\nprint('''\nObservation: x\n''')\n]]", py("print('''\nObservation: x\n''')")),
    ("fence over lines", "Action: python_executor[[\n```python\nprint(1)\n```\n]]", py("print(1)")),
    ("indented code", "Action: python_executor[[\n    a = 1\n    b = 2\n]]", py("    a = 1\n    b = 2")),
    ("apostrophe", "Action: web_search[[what's new in Oslo]]", act("web_search", "what's new in Oslo")),
    ("two apostrophes", "Action: web_search[[Bach's and Haydn's [works]]]", act("web_search", "Bach's and Haydn's [works]")),
    ("double quotes phrase", 'Action: web_search[["a" and "b"]]', act("web_search", '"a" and "b"')),
    ("empty for one that needs none", "Action: current_time[[]]", act("current_time", {})),
    ("no brackets for one that needs none", "Thought: t\nAction: current_time", act("current_time", {})),
    ("empty", "Action: calculator[[]]", BAD),
    ("unclosed", "Action: calculator[[2 + 2", BAD),
    ("half closed", "Action: calculator[[2 + 2]", BAD),
    ("cut", "Thought: t\nAction: web_search[[the long", BAD),
    ("cut name", "Thought: t\nAction: web_sea", BAD),
    ("unknown", "Action: wikipedia[[a]]", act("wikipedia", "a")),
    ("unbalanced", "Action: web_search[[interval [0, 1)]]", BAD),
    ("parameters", 'Action: convert_time[[{"time": "1", "zone": "a"}]]', act("convert_time", {"time": "1", "zone": "a"})),
    ("parameters as text", "Action: convert_time[[1 in a]]", BAD),
    ("keyword as text", "Action: get_weather[[city=Oslo]]", BAD),
    ("keyword quoted", 'Action: get_weather[[city="Oslo"]]', act("get_weather", "Oslo")),
    ("assignment in code", "Action: python_executor[[code = 3\nprint(code)]]", py("code = 3\nprint(code)")),
    ("action then answer", "Action: calculator[[2 + 2]]\nFinal Answer: 4", BAD),
    ("answer", "Thought: t\nFinal Answer: It is 4.", ans("It is 4.")),
    ("answer short label", "Thought: t\nAnswer: It is 4.", ans("It is 4.")),
    ("answer with brackets", "Final Answer: see [[Oslo]] and calculator[[1]]", ans("see [[Oslo]] and calculator[[1]]")),
    ("answer as action", "Action: Finish[[It is 4.]]", ans("It is 4.")),
    ("answer as action long", "Action: Final Answer[[It is 4.]]", ans("It is 4.")),
    ("finish single", "Action: Finish[It is 4.]", ans("It is 4.")),
    ("answer lines", "Final Answer: a\n- b\n- c", ans("a\n- b\n- c")),
    ("prose", "I would call calculator[[2 + 2]] now.", BAD),
    ("only thought", "Thought: I could run web_search[[a]].", BAD),
    ("empty reply", "", BAD),
    ("spaces in name", "Action: web search[[a]]", act("web search", "a")),
]  # fmt: skip
