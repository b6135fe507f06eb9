"""Every input format yields the same questions however its bytes are split, and reports what it cannot parse."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.core.errors import UserError
from worker.questions import Question, Reader, Refused, Rules, Template


def read(data: bytes, form: str, template: str | None = None, most: int = 100_000) -> list[Question | Refused]:
    reader = Reader(Rules(most, Template(template) if template else None))
    return list(reader.read([data], form))


def asked(found: list[Question | Refused]) -> list[str]:
    return [item.question for item in found if isinstance(item, Question)]


def refused(found: list[Question | Refused]) -> list[tuple[int, str]]:
    return [(item.line, item.reason) for item in found if isinstance(item, Refused)]


SAMPLES = {
    "jsonl": '{"question": "Größe?"}\r\n\n{"question": "b\\nc", "n": 1}\n{"bad"\n{"question": "d"}'.encode(),
    "csv": 'question,note\n"a ""quoted"", b","two\nlines"\nGröße?,x\n"c",1'.encode(),
    "plain": "eins\n\n  zwei  \r\n我爱编程".encode(),
}


@pytest.mark.parametrize("form", SAMPLES)
@given(cuts=st.lists(st.integers(0, 120), max_size=12))
def test_how_the_bytes_are_cut_makes_no_difference(form: str, cuts: list[int]) -> None:
    data = SAMPLES[form]
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    pieces = [data[a:b] for a, b in pairwise(edges)]
    assert list(Reader(Rules()).read(pieces, form)) == read(data, form)


@given(st.binary(max_size=300), st.sampled_from(["jsonl", "csv", "plain", "auto"]))
def test_no_bytes_make_a_reader_fail_otherwise_than_by_a_sentence(data: bytes, form: str) -> None:
    try:
        found: list[object] = [*read(data, form)]
    except UserError as error:
        found = [error]
    assert all(isinstance(item, (Question, Refused, UserError)) for item in found)


def test_lines_are_counted_as_an_editor_counts_them() -> None:
    found = read(SAMPLES["jsonl"], "jsonl")
    assert [item.line for item in found] == [1, 3, 4, 5]
    rows = read(b'question,note\n"a","x\ny"\n"b"\n"c","z"\n', "csv")
    assert [item.line for item in rows] == [2, 4, 5]
    assert refused(rows) == [(4, "has 1 cells where the header has 2")]


def test_columns_that_are_no_option_become_metadata() -> None:
    data = b"question,custom_id,agent,max_steps,expected,topic\na,1,travel,3,x,sums\n"
    assert read(data, "csv") == [Question(2, "a", "1", "travel", None, None, 3, {"topic": "sums"}, "x")]
    line = {"question": "a", "custom_id": 7, "topic": ["x"], "metadata": {"set": 1}, "expected": 4}
    expected = Question(1, "a", "7", metadata={"topic": ["x"], "set": 1}, expected="4")
    assert read(json.dumps(line).encode(), "jsonl") == [expected]


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_the_separator_of_a_table_is_found_in_its_header(mark: str) -> None:
    data = f"question{mark}topic\na{mark}b\n".encode()
    assert read(data, "csv") == [Question(2, "a", metadata={"topic": "b"})]


def test_a_quote_that_never_closes_is_refused_and_does_not_swallow_the_file() -> None:
    found = read(b'question\n"a\nb\nc\n', "csv")
    assert asked(found) == [] and len(refused(found)) == 1 and "not valid CSV" in refused(found)[0][1]


def test_a_template_takes_columns_of_csv_and_fields_of_json() -> None:
    assert asked(read(b"title\nRed\n", "csv", "Classify {title} {{so}}")) == ["Classify Red {so}"]
    line = {"metadata": {"title": "Red"}, "tags": ["a"]}
    assert asked(read(json.dumps(line).encode(), "jsonl", "{title}: {tags}")) == ['Red: ["a"]']
    assert refused(read(b'{"x": 1}\n', "jsonl", "{title}")) == [(1, 'has no "title", which the template needs')]
    assert asked(read(b"What?\n", "plain", "Answer briefly: {question}")) == ["Answer briefly: What?"]


@pytest.mark.parametrize("text", ["no column", "{", "a } b", "{}", "{a"])
def test_a_template_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="template"):
        Template(text)


def test_a_template_reaches_no_attributes() -> None:
    found = read(b'{"title": "x"}\n', "jsonl", "{title.__class__}")
    assert refused(found) == [(1, 'has no "title.__class__", which the template needs')]


def test_a_line_without_end_is_refused_and_never_held() -> None:
    held = 0

    def endless() -> Iterator[bytes]:
        nonlocal held
        for _ in range(200):
            held += 1
            yield b"x" * 100_000
        yield b"\nWhat?\n"

    found = list(Reader(Rules(max_question_bytes=10_000)).read(endless(), "plain"))
    assert held == 200 and asked(found) == ["What?"]
    assert refused(found) == [(1, "is longer than 1,080,000 bytes")]


def request(**body: object) -> bytes:
    whole = {"model": "m", "messages": [{"role": "user", "content": "Hi?"}], **body}
    line = {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": whole}
    return json.dumps(line).encode()


def test_openai_lines_give_question_model_and_id() -> None:
    assert read(request(), "jsonl") == [Question(1, "Hi?", "a", model="m")]
    parts = [{"role": "user", "content": [{"type": "text", "text": "Hi "}, {"type": "text", "text": "you?"}]}]
    assert asked(read(request(messages=parts), "jsonl")) == ["Hi you?"]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "assistant", "content": "x"}]}, "only instructions and then one user message"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "images"),
        ({"tools": [{"type": "function"}]}, '"tools"'),
        ({"response_format": {"type": "json_object"}}, '"response_format"'),
        ({"messages": ["x"]}, "message 1"),
    ],
)
def test_openai_lines_that_ask_for_more_are_refused(body: dict[str, object], says: str) -> None:
    assert says in refused(read(request(**body), "jsonl"))[0][1]


def test_a_question_that_is_json_text_with_lone_surrogates_is_refused() -> None:
    assert "not valid JSON" in refused(read(rb'{"question": "\ud800"}', "jsonl"))[0][1]
