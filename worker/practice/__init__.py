"""The practice model: an OpenAI-compatible server with a rule-based brain, for learning, demos and tests.

It knows only the conversation that it is sent and computes nothing itself: its answers come from tool results.
"""

from worker.practice.config import Config
from worker.practice.faults import Fault
from worker.practice.limits import PracticeLimits
from worker.practice.serving import Control, run_forever, serve

__all__ = ["Config", "Control", "Fault", "PracticeLimits", "run_forever", "serve"]
