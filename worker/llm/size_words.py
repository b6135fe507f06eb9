"""The words by which providers speak of tokens and length, in the form that `wordings.py` describes."""

from __future__ import annotations

SIZE = (
    "context(?! ?(?:=|deadline|cancel|management|manager|menu|of the))", "(?:n |num )?ctx", r"(?:max )?model len\w*",
    r"prompts?(?! (?:cach|id\b|template|filter|token details))", "inputs?(?! (?:queue|type|schema|audio|image))",
    "messages?(?=.{0,40}(?:tokens|too l|length|size|char))", "conversation", "(?:chat )?history", "tokens(?! details)",
    "token (?:count|limit|length|number|size|window|quota|budget|total|num)", "content(?! (?:filter|type|polic|manag))",
    "(?<!stop )sequence", "request (?:entity|body|payload|size)", "payload", "body size",
    "requests? (?:is |was |are )?too (?:long|large|big)", "上下文", "输入", "提示", "长度", "字数", "コンテキスト",
    "トークン", "入力", "jetons", "contexto", "contexte", r"kont(?:ex|eks)t\w*", "eingabe", "entrada", r"контекст\w*",
    r"токен\w*", "토큰", "컨텍스트", "text(?! (?:format|type))", "对话", "内容",
)  # fmt: skip
TOO_BIG = (
    r"exceed\w*", r"overflow\w*", r"surpass\w*", r"outgr\w+", r"over (?:the|its|our|your|this|\d)", "(?<!no )longer",
    "larger", "greater", "bigger", "higher than", "above", "beyond", "past (?:the|its|our|your|what)",
    r"mayor(?:es)? (?:que|a|de)", "supérieure? à", r"größer\w*",
    "too (?:long|large|many|big|lengthy|much|high)", r"max\w*", "at most",
    "(?:no|not|nor) (?:more|longer|larger|greater) than", "more than", r"more \w+ than", "less than", "fewer than",
    "shorter", "smaller",
    "below", r"under \d", "up to", r"limit\w*", r"fits?\b", "fitted", r"reduc\w+", r"shorten\w*", r"trim\w*",
    r"truncat\w+", "out of (?:context|range|bounds|space|room)", "no (?:room|space)", "run out of", "ran out of",
    "capacity", "range", r"between -?\d+ and", r"\[ ?-?\d+ ?, ?\d+ ?\]", r"within[^a-z]{0,3}\d", "outside", "ceiling",
    "(?:not|unable to) (?:hold|fit|accommodate)", r"(?:window|ctx) (?:is|has|holds) (?:only )?\d",
    "cannot (?:hold|fit)", "supports only", "allows? only", "only (?:supports?|allows?|accepts?|has|have)", ">",
    r"<=? ?\d", r"cap\b", "capped", r"only \d", r"remain\w*", "au plus", "como máximo", "höchstens", "≤", "超过",
    "范围", "大于", "高于", "不多于", "最多", "至多", "限制",
    "超出", "超限", "超长", "过长", "太长", "过大", "上限", "最大", "溢出", "長すぎ", "超え", "超過", r"super\w+",
    r"exced\w+", r"przekracz\w+", "demasiado", r"dépass\w*", r"trop long\w*", r"überschr\w+", "zu (?:lang|groß)",
    r"превы\w+", "초과",
)  # fmt: skip
OUTPUT = (
    r"max(?:imum)?(?: \w+)? ?(?:completion|output|new|generat\w+|response) tokens", "max(?:imum)? tokens", "maxtokens",
    "(?:completion|output|generation|response) (?:tokens?|length|limit|budget)", "n(?:um)? predict",
    "(?:new|generated) tokens", r"generate (?:up to )?(?:\d+|more|that many|so many) tokens",
    "output (?=(?:is |was )?(?:capped|limited))", "tokens to (?:generate|sample)",
    "tokens (?:in|for) the (?:completion|output|response)", "最大输出", "输出长度", "生成长度", "最大生成",
    "输出上限", "生成数量",
)  # fmt: skip
INPUT = (
    "prompts?", "inputs?", "messages?", "conversation", "context", "history", "n ctx", r"model len\w*",
    "sequence length", "上下文", "输入",
)  # fmt: skip
CONTEXT = (
    "context(?! ?(?:=|deadline|cancel|management|manager|menu|of the))", "n ctx",
    r"prompts?(?! (?:cach|id\b|template))", r"(?:max )?model len\w*", "sequence length",
    "input (?:tokens?|length|is|too)", "conversation", "上下文", "输入长度",
)  # fmt: skip
TOGETHER = (
    r"\+", "plus", "and max", "sum", "total", r"combin\w+", "together", r"remain\w*", "left", r"\d - \d",
)  # fmt: skip
BUDGET = (
    "budget tokens", "(?:thinking|reasoning) budget",
)  # fmt: skip
AT_LEAST = (
    "must be (?:greater|larger|more|higher|bigger)[^.;|]*", "at least", "minimum",
    r"(?:greater|more|larger|bigger|higher) than (?:or equal to )?-?[01]\b", "positive", r">=? ?[01]\b", "non ?zero",
    "too (?:small|low|short)", "below",
)  # fmt: skip
ONE_REQUEST = (
    r"(?:request|prompt|message|input)s?(?: \w+){0,3} (?:is|are|was)? ?too (?:large|long|big)",
    "(?:this|single|one|each|your) (?:request|prompt|message) (?:alone|by itself|on its own)",
    "(?:single|individual|one) request", "request alone", "never (?:be|fit|succeed)",
    r"(?:reduce|shorten|decrease)(?: \w+){0,2} (?:message|prompt|input|request|messages)s?(?: size| length)?",
)  # fmt: skip
NOT_TEXT = (
    "schema", "tool ?choice", "tool names?", "function names?", "descriptions?", "stop sequences?", "metadata",
    "properties", r"enum\w*", "(?<!position )embeddings?", "cache ?keys?", "budget tokens", "thinking budget",
    "reasoning budget",
    "max output",
)  # fmt: skip
MEDIA = ("images?", "audio", "videos?", "files?", "attachments?", "pdfs?", "documents?")
TEXT_BESIDE_MEDIA = ("text", "prompts?", "context", "conversation", "messages?", "total", "combined", "together")
TEXT_FIELDS = (
    "messages", "message", "content", "contents", "text", "prompt", "input", "inputs", "parts", "query", "tokens",
)  # fmt: skip
