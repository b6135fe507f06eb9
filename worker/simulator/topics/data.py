"""Databases, files and notes: calls whose arguments the question spells out."""

from __future__ import annotations

import re

from worker.simulator.records import Call, Plan
from worker.simulator.topics.asking import Question, ask

_SQL = re.compile(r"[`\"“]?\b((?:SELECT|WITH)\b[^`\"”;]+)", re.IGNORECASE)
_ROWS = re.compile(r"how many (?:rows|records|entries) .*?\b(?:table|tabelle|tabla)\s+[`\"']?(\w+)", re.IGNORECASE)
_DATABASE = re.compile(r"\bdatabase\s+(?:called |named )?[`\"']?(?!have|has|hold|is|are|contain)(\w+)", re.IGNORECASE)
_DATABASE_AFTER = re.compile(r"[`\"']?(\w+)[`\"']? database\b", re.IGNORECASE)
_FILE = re.compile(
    r"\b(?:file|Datei|archivo|fichier)\s+[`\"'“]?([\w./-]*\w\.\w{1,5})|文件\s*[`\"“]?([\w./-]+\.\w{1,5})", re.IGNORECASE
)
_NOTE = re.compile(r"^\W*(?:please )?(?:remember|note down|note) that\s+(.+)$", re.IGNORECASE | re.DOTALL)
_RECALL = re.compile(r"\brecall\b|what (?:did you|have you) note", re.IGNORECASE)


def plan(question: Question) -> Plan | None:
    """A plan for SQL, a file, a note, where the question asks for one and the tool is listed."""
    for tool, find in (("sql_query", _sql), ("read_file", _file), ("note", _note), ("recall", _recall)):
        if question.has(tool) and (call := find(question)):
            return _tell(question, call)
    return None


def _tell(question: Question, call: Call) -> Plan:
    observed = yield from ask(question, call, call)
    return question.say("unknown") if observed.failed else question.answer(observed.text.strip())


def _sql(question: Question) -> Call | None:
    rows, given = _ROWS.search(question.text), _SQL.search(question.text)
    if rows is None and (given is None or not re.search(r"\bFROM\b", given[1], re.IGNORECASE)):
        return None
    query = f"SELECT count(*) FROM {rows[1]}" if rows else given[1].strip() if given else ""
    tool = question.tools["sql_query"]
    args = {tool.pick("query", "sql"): query}
    if match := _DATABASE.search(question.text) or _DATABASE_AFTER.search(question.text):
        args[tool.pick("database")] = match[1]
    return Call("sql_query", args)


def _file(question: Question) -> Call | None:
    match = _FILE.search(question.text)
    return question.text_call("read_file", match[1] or match[2], "path", "name", "file") if match else None


def _note(question: Question) -> Call | None:
    match = _NOTE.search(question.text)
    return question.text_call("note", match[1].strip().rstrip("."), "text", "note", "content") if match else None


def _recall(question: Question) -> Call | None:
    return Call("recall", {}) if _RECALL.search(question.text) else None
