"""Questions as people hand them over: JSONL, CSV, plain lines, OpenAI batch request lines; read as a stream."""

from worker.questions.reading import FORMATS, Reader
from worker.questions.record import Question, Refused, Rules
from worker.questions.template import BadLine, Template

__all__ = ["FORMATS", "BadLine", "Question", "Reader", "Refused", "Rules", "Template"]
