"""Inputs of react_json: JSON as models write it, programs, and what must not be mended."""
# ruff: noqa: E501  (a table reads best with one sample to a line)

from __future__ import annotations

from tests.dialects.outcomes import BAD, Wanted, act

HEAD = "Thought: t\nAction: "


def search(written: str) -> str:
    return f"{HEAD}web_search\nAction Input: {written}"


def code(written: str) -> str:
    return f"{HEAD}python_executor\nAction Input: {written}"


def q(text: str) -> Wanted:
    return act("web_search", {"query": text})


def py(text: str) -> Wanted:
    return act("python_executor", {"code": text})


KINDS: list[tuple[str, str, Wanted]] = [
    ("fence json", search('```json\n{"query": "a"}\n```'), q("a")),
    ("fence plain", search('```\n{"query": "a"}\n```'), q("a")),
    ("fence upper case", search('```JSON\n{"query": "a"}\n```'), q("a")),
    ("fence tildes", search('~~~json\n{"query": "a"}\n~~~'), q("a")),
    ("fence on next line", search('\n```json\n{"query": "a"}\n```'), q("a")),
    ("fence with text behind", search('```json\n{"query": "a"}\n```\nI wait for the result.'), q("a")),
    ("fence unclosed", search('```json\n{"query": "a"}\n'), q("a")),
    ("fence five", search('`````json\n{"query": "a"}\n`````'), q("a")),
    ("one line fence with space", search('```json {"query": "a"} ```'), q("a")),
    ("inline backticks", search('`{"query": "a"}`'), q("a")),
    ("word json", search('json\n{"query": "a"}'), q("a")),
    ("pretty printed", search('{\n  "query": "a",\n  "max_results": 3\n}'), act("web_search", {"query": "a", "max_results": 3})),
    ("label keys in pretty json", search('{\n  "query": "a",\n  "answer": "x",\n"action": 1\n}'),
     act("web_search", {"query": "a", "answer": "x", "action": 1})),
    ("trailing comma", search('{"query": "a",}'), q("a")),
    ("trailing comma in list", search('{"query": "a", "x": [1, 2,],}'), act("web_search", {"query": "a", "x": [1, 2]})),
    ("single quotes", search("{'query': 'a'}"), q("a")),
    ("single quotes with double inside", search("{'query': 'say \"hi\"'}"), q('say "hi"')),
    ("mixed quotes", search("{'query': \"it's\"}"), q("it's")),
    ("escaped apostrophe", search("{'query': 'it\\'s'}"), q("it's")),
    ("escaped apostrophe in double", search('{"query": "it\\\'s"}'), q("it's")),
    ("python literals", search("{'query': 'a', 'safe': True, 'x': None}"), act("web_search", {"query": "a", "safe": True, "x": None})),
    ("unquoted keys", search('{query: "a", max_results: 3}'), act("web_search", {"query": "a", "max_results": 3})),
    ("curly quotes", search("{“query”: “a”}"), q("a")),
    ("curly quotes inside stay", search('{"query": "say “hi”"}'), q("say “hi”")),
    ("fullwidth punctuation", search('{"query"："a"，"max_results"：3}'), act("web_search", {"query": "a", "max_results": 3})),
    ("fullwidth inside stays", search('{"query": "a：b，c"}'), q("a：b，c")),
    ("comment line", search('{"query": "a" // the word\n}'), q("a")),
    ("hash comment", search('{"query": "a", # why\n "max_results": 2}'), act("web_search", {"query": "a", "max_results": 2})),
    ("block comment", search('{"query": /* the word */ "a"}'), q("a")),
    ("no comment in string", search('{"query": "a // b # c /* d */"}'), q("a // b # c /* d */")),
    ("bare newline in string", search('{"query": "a\nb"}'), q("a\nb")),
    ("bare tab in string", search('{"query": "a\tb"}'), q("a\tb")),
    ("missing comma", search('{"query": "a"\n "max_results": 2}'), act("web_search", {"query": "a", "max_results": 2})),
    ("extra brace", search('{"query": "a"}}'), q("a")),
    ("full stop behind", search('{"query": "a"}.'), q("a")),
    ("remark behind", search('{"query": "a"} (this finds it)'), q("a")),
    ("prose behind", search('{"query": "a"}\n\nNow I wait for the result.'), q("a")),
    ("list of one", search('[{"query": "a"}]'), q("a")),
    ("list of two", search('[{"query": "a"}, {"query": "b"}]'), BAD),
    ("plain list", search('["a", "b"]'), BAD),
    ("double encoded", search('"{\\"query\\": \\"a\\"}"'), q("a")),
    ("double encoded in single quotes", search("'{\"query\": \"a\"}'"), q("a")),
    ("null", search("null"), BAD),
    ("empty object is valid", search("{}"), act("web_search", {})),
    ("doubled key same value", search('{"query": "a", "query": "a"}'), q("a")),
    ("doubled key", search('{"query": "a", "query": "b"}'), BAD),
    ("triple quotes", code('{"code": """print("hi")\nprint(2)"""}'), py('print("hi")\nprint(2)')),
    ("template literal", code('{"code": `print("hi")`}'), py('print("hi")')),
    ("raw string", code("{'code': r'\\d+'}"), py("\\d+")),
    ("unknown escape", search('{"query": "\\d+ C:\\Users"}'), q("\\d+ C:\\Users")),
    ("path with an escape letter", search('{"query": "C:\\Users\\new"}'), BAD),
    ("latex with an escape letter", search('{"query": "\\alpha \\frac"}'), BAD),
    ("regex and newline", code('{"code": "re.findall(\'\\d\', s)\\nprint(1)"}'), py("re.findall('\\d', s)\nprint(1)")),
    ("valid escapes stay", search('{"query": "a\\nb\\u00e9\\\\n"}'), q("a\nbé\\n")),
    ("emoji pair", search('{"query": "\\ud83d\\ude00"}'), q("😀")),
    ("half an emoji", search('{"query": "\\ud83d"}'), BAD),
    ("unescaped quotes", search('{"query": "say "hi" now"}'), BAD),
    ("unescaped quotes in code", code('{"code": "print("hi")"}'), BAD),
    ("apostrophe in single", search("{'query': 'it's'}"), BAD),
    ("unquoted value", search('{"query": some words}'), BAD),
    ("expression value", search('{"query": "a" + "b"}'), BAD),
    ("arithmetic value", search('{"query": "a", "max_results": 2*3}'), BAD),
    ("dots", search('{"query": "a", ...}'), BAD),
    ("nan", search('{"query": "a", "x": NaN}'), BAD),
    ("cut in string", search('{"query": "the long'), BAD),
    ("cut in key", search('{"query": "a", "max'), BAD),
    ("cut after colon", search('{"query":'), BAD),
    ("cut after comma", search('{"query": "a",'), BAD),
    ("cut number", search('{"query": "a", "max_results": 1'), BAD),
    ("cut brace", search("{"), BAD),
    ("missing brace at the end", search('{"query": "a"'), BAD),
    ("missing brace before observation", search('{"query": "a"\nObservation: x'), q("a")),
    ("cut string before observation", search('{"query": "a\nObservation: x'), BAD),
    ("deep nesting", search('{"a":' * 3000 + "1"), BAD),
    ("long number", search('{"query": "a", "n": ' + "9" * 5000 + "}"), BAD),
    ("braces in string", search('{"query": "a } b { c"}'), q("a } b { c")),
    ("label in string", search('{"query": "Observation: or\\nFinal Answer: x"}'), q("Observation: or\nFinal Answer: x")),
    ("label in string with bare newline", search('{"query": "a\nObservation: b\nAnswer: c"}'), q("a\nObservation: b\nAnswer: c")),
    ("fence in string", code('{"code": "print(\'```\')"}'), py("print('```')")),
    ("think in string", search('{"query": "what does <think> mean"}'), q("what does <think> mean")),
    ("think pair in string", search('{"query": "<think>a</think> tags"}'), q("<think>a</think> tags")),
    ("token in string", search('{"query": "meaning of <|im_end|> token"}'), q("meaning of <|im_end|> token")),
    ("address in string", search('{"query": "http://a.b/c?d=e#f,g"}'), q("http://a.b/c?d=e#f,g")),
    ("json in string", search('{"query": "{\\"a\\": 1}"}'), q('{"a": 1}')),
    ("object said then text", search('Here is the input: {"query": "a"}'), BAD),
    ("second object", search('{"query": "a"}\n{"query": "b"}'), q("a")),
    # programs
    ("python fence", code("```python\nprint(1)\n```"), py("print(1)")),
    ("py fence", code("```py\nprint(1)\n```"), py("print(1)")),
    ("bare fence", code("```\nprint(1)\n```"), py("print(1)")),
    ("fence on next line code", code("\n```python\nprint(1)\n```"), py("print(1)")),
    ("one line code fence", code("```python print(1)```"), py("print(1)")),
    ("close behind last line", code("```python\nprint(1)```"), py("print(1)")),
    ("indentation", code("```python\n    if a:\n        b\n```"), py("    if a:\n        b")),
    ("blank lines inside", code("```python\na = 1\n\n\nb = 2\n```"), py("a = 1\n\n\nb = 2")),
    ("label in code", code('```python\nprint("""\nObservation: x\nAnswer: y\n""")\n```'), py('print("""\nObservation: x\nAnswer: y\n""")')),
    ("comment label in code", code("```python\n# Action: x\nprint(1)\n```"), py("# Action: x\nprint(1)")),
    ("think in code", code('```python\ns = """\n<think>\n"""\n```'), py('s = """\n<think>\n"""')),
    ("backslashes in code", code('```python\nprint("a\\n\\\\d")\n```'), py('print("a\\n\\\\d")')),
    ("bare fence in string", code('```python\nmd = """\n```\ncode\n```\n"""\n```'), py('md = """\n```\ncode\n```\n"""')),
    ("dict program", code("```python\n{'a': 1}\n```"), py("{'a': 1}")),
    ("json in json fence for code", code('```json\n{"code": "print(1)"}\n```'), py("print(1)")),
    ("json in bare fence for code", code('```\n{"code": "print(1)"}\n```'), py("print(1)")),
    ("json for code", code('{"code": "print(1)\\nprint(2)"}'), py("print(1)\nprint(2)")),
    ("program unfenced", code("\nfor i in range(3):\n    print(i)"), py("for i in range(3):\n    print(i)")),
    ("unclosed fence", code("```python\nprint(1)"), BAD),
    ("unclosed fence then observation", code("```python\nprint(1)\nObservation: 1"), py("print(1)")),
    ("empty fence", code("```python\n```"), BAD),
    ("two fences", code("```python\na = 1\n```\nand then\n```python\nb = 2\n```"), py("a = 1")),
    ("crlf program", code("```python\r\na = 1\r\nb = 2\r\n```"), py("a = 1\r\nb = 2")),
    ("code fence for a tool of parameters", f"{HEAD}convert_time\nAction Input: ```python\nx\n```", BAD),
]  # fmt: skip
