"""Reads questions as a stream from JSONL, CSV, plain lines or OpenAI batch request lines."""

from worker.questions.reading import FORMATS, Reader
from worker.questions.record import Question, Refused, Rules
from worker.questions.template import BadLine, Template

__all__ = ["FORMATS", "BadLine", "Question", "Reader", "Refused", "Rules", "Template"]
