"""The words by which providers say that a model does not exist, in the form that `wordings.py` describes."""

from __future__ import annotations

MODEL_ITSELF = ("models?", "deployments?", "engines?", "endpoints?", "模型")
FIELD = (
    r"max (?:\w+ )?tokens", "temperature", "top [pk]", r"(?:parameter|field|argument|option|propert)\w*", "logprobs?",
    "roles?", "stop", r"stream\w*", "seed", "penalty", "response format", "reasoning(?: effort)?", "thinking",
)  # fmt: skip
_PART = rf"\b(?:{'|'.join(FIELD)})\b"
"""If one of these parts of the request comes between, the model is not what is missing."""
NO_MODEL = (
    r"modell\w*\b.{0,60}(?:nicht (?:gefunden|vorhanden|verfügbar|bekannt)|unbekannt|existiert nicht)",
    "unbekanntes modell",
    r"mod[eè]le\b.{0,60}(?:introuvable|inconnu|existe pas)", "未知(?:的)?模型", "无此模型", "没有该模型",
    r"(?:unknown|invalid|no such|nonexistent|non existent|unrecogni[sz]ed|unavailable"
    r"|unsupported) (?:\w+ )?(?:model|engine|deployment)(?: ?name| ?id| identifier)?"
    r"(?! (?:output|response|reply|param|kwarg|argument|setting|option|field))\b",
    "models? ?(?:not|does not|do not) ?(?:exist|found)",
    rf"(?:model|deployment|engine)\b(?:(?!{_PART}).){{0,120}}?\bnot (?:be )?(?:found|located|exist\w*|available|served"
    r"|deployed|installed|downloaded|pulled|hosted|known|registered|recogni[sz]ed|supported(?! (?:with|for|by|as)\b)"
    r"|a valid|a chat model|valid|online|configured)",
    r"(?:find|found|locate|recogni[sz]e|serve|know)(?: \w+){0,3} model",
    "no models? (?:loaded|found|available|named|with|matching|configured)", "no endpoints found",
    r"no (?:healthy )?deployments?(?: \w+)? (?:found|available|for)", "no allowed providers", "not a valid model",
    "deployment not found", "model not exist", "list of available models", "not found(?: the)? model",
    "invalid endpoint or model", "模型(?:.{0,30})(?:不存在|下线|未找到|找不到|已停用|不可用|无效)", "不存在的模型",
    "モデル.{0,20}見つかり", "modelo.{0,40}no (?:existe|encontrad)", "there is no model", "no model (?:called|named)",
    r"model\b.{0,80}?\bnot (?:among|one of|on|in)(?: \w+){0,3} (?:models?|ones|catalog\w*|deployments?)",
    r"provider\b(?: \w+){0,4} not (?:be )?(?:provided|configured|found|determined|given|known|recogni[sz]ed)",
    "unknown (?:llm |model )?provider", r"(?:determine|infer|resolve)(?: \w+){0,3} provider",
    "no (?:llm |model )?provider (?:found|for|serves|configured)",
    r"(?:cannot|not (?:support|for|able to|meant for)) (?:\w+ )?chat(?:ting)?\b(?! (?:template|kwargs|param))",
    "not support generate", "nothing is (?:deployed|served|loaded)", "maps? to no(?:thing)?",
    "(?:cannot|not) be used for chat", r"not (?:among|one of|on|in) (?:the |our |your )?(?:\w+ )?models\b",
)  # fmt: skip
GONE = (
    rf"(?:model|deployment|engine)\b(?:(?!{_PART}).){{0,120}}?\b(?:decommissioned|retired|removed|shut ?down"
    "|discontinued|sunset|deprecated|end of life|no longer)",
)  # fmt: skip
RETIRED = ("retired", "decommissioned", "sunset", "discontinued", "withdrawn", "end of life")
