"""The words by which providers describe each subject: data for `evidence.py`, which defines how they combine.
Words about tokens and length are in `size_words.py`, those about missing models in `model_words.py`.

Fragments of regular expressions over normalised text: lower case, `snake_case`, `camelCase` and hyphens split up,
no quotes, "n't" as " not". So the code `InsufficientBalance` and the sentence "Insufficient balance." read the same.
Other languages are listed beside English if providers use them.
"""

from __future__ import annotations

# --- (a) money and rights --------------------------------------------------------------------------------------------
MONEY = (
    "credits?", "(?<!load )balance", "billing", "payments?", "funds?", "funding", "spend(?:ing|s)?", "pre ?paid",
    "invoices?", "(?<!token )(?<!thinking )(?<!reasoning )(?<!completion )(?<!output )budget(?! tokens)", "wallet",
    "usd", "dollars?", "money", "cost limit", "account quota", "resource ?packs?", "free (?:trial|package|allowance)",
    "trial", "subscription(?! key)", "extra usage", "top ?up", r"promo(?:tion\w*)?",
    "(?:free|trial|welcome|starter|research|usage) grants?", "vouchers?", "coupons?", "gift",
    "(?:your|starter|token|prepaid|data) (?:package|pack|bundle)s?", "bundles?",
    r"(?:in|of|from|with) (?:the|this|your) (?:\w+ )?(?:package|pack|plan)", "余额", "额度", "资源包", "套餐",
    "试用", "赠送", "赠金", "代金券", "账户", "帐户", "账号", "残高", "クレジット", "利用枠",
    "saldo", "crédits?", "créditos?", "guthaben", r"средств\w*", r"баланс\w*", "잔액", "크레딧",
)  # fmt: skip
LACK = (
    r"insufficient\w*", r"not (?:enough|sufficient|cover\w*|active|enabled|set ?up|funded)",
    r"no (?:more |remaining |available |valid |active |sufficient )?(?:credit|balance|fund|quota|money|payment"
    r"|resource)\w*", "out of", "(?:ran|run|running|runs) (?:out|dry)", "delinquent", r"exhaust\w*", r"deplet\w+",
    "used (?:up|all|out)",
    "all used", "reached", "hit", r"exceed\w*", "over (?:the |its |your )", "too low", "low", "below", "negative",
    "overdue", "past due", "unpaid", r"owe\w*", "outstanding", "expired?", "inactive", "disabled", "empty", "zero",
    "hard limit", r"suspend\w*", r"lack\w*", "without", "(?:do|does|did) not have", "not have any", "have no", "has no",
    r"fail\w*", r"declin\w+", "afford", r"remain\w* 0", r"(?:is|holds|has|of) (?:\$ ?)?-?0(?:\.0+)?\b", "arrears?",
    "burn(?:t|ed) through", "consumed", "spent", "gone", "nothing (?:left|remains)", "lapsed",
    "(?:to|must|should) be enabled", "on hold", "drained", "dried up",
    r"(?:no|zero|0)(?: \w+){0,2} (?:left|remain\w*|available)", r"none (?:is |are )?(?:left|remain\w*)", "不足",
    "已用完", "用尽", "耗尽", "已用尽", "欠费", "透支", "超支",
    "用完", "用光", "使い切", "ありません", "不足しています", "耗光", "花完", "没有剩余", "冻结", "为零", "为0",
    "无可用", "不够", "失败", r"insuficient\w*",
    r"insuffisant\w*", r"agotad\w+", r"épuisé\w*", r"esgotad\w+", "aufgebraucht", "erschöpft",
    "nicht ausreichend", r"недостат\w+", "부족", r"-\d", "ended", "crossed",
)  # fmt: skip
CHARGED = (
    "charged", "billed", "deducted", "refunded",
)  # fmt: skip
MONEY_ALONE = (
    r"arrear\w*", "payment required", "in arrears", "insufficient quota", "unpaid", "overdue",
    "out of (?:money|credits?|funds)", "account (?:is )?(?:overdue|in debt|unfunded)",
    "pay ?as ?you ?go (?:not|required)", "欠费", "请充值", "余额不足", "无可用资源包", "残高不足",
)  # fmt: skip
QUOTA = (
    "quotas?", "usage (?:limit|cap|quota|allowance)s?", "plan (?:limit|quota)s?", "allowance", "allotment",
    r"free (?:tier|plan|quota|model\w*|usage|requests?|limit|messages?|calls?|tokens?|questions?)",
    "(?:spend|spending|monthly|weekly|daily|hard|package|tier|inference|usage) (?:usage |request |token "
    "|rate )?(?:limit|cap|quota|budget|allowance)s?", "配额", "限额", "用量", "免费", "quoten?", "cuota", "kontingent",
    "次数", "割り当て", "クォータ", "할당량", r"квот\w*",
)  # fmt: skip
USED_UP = (
    *LACK, "limit (?:is |was |has been )?(?:reached|hit|exceeded)", "limit exceeded", "limited", "超", "达到", "达",
    "上限", r"agotad\w+", r"excedid\w+", r"dépass\w+", "überschritten", "超過", "초과", r"исчерп\w+", r"превы\w+",
)  # fmt: skip
PAY = (
    "top (?:it )?up", r"recharg\w+",
    r"add(?:ing)? (?:more |some |a |new )?(?:\d+ )?(?:credit|fund|payment|money|balance)\w*", r"buy\w*", r"purchas\w+",
    r"(?:requires?|needs?)(?: \w+){0,3} (?:credits?|balance|payment|subscription|paid|plan)", "upgrade (?:to|your)",
    "充值", "续费", "请购买", "deposit", "subscribe",
)  # fmt: skip
OWNER = (
    "accounts?", "organi[sz]ations?", "orgs?", "project(?! not)", "teams?", "workspace", "api ?key", "your key",
    "ip(?: address)?", "regions?", "country", "countries", "(?:user )?location", "territory", "applications?(?: id)?",
    "departments?",
    "tenant", "subscription",
    "账户", "账号", "帐号", "帐户", "地区", "用户",
)  # fmt: skip
BARRED = (
    r"suspend\w*", "disabled", r"deactivat\w+", "banned", "blocked", "terminated", "locked", "frozen", "restricted",
    "denied", "revoked access", "archived",
    r"not (?:\w+ ){0,2}(?:allowed|authori[sz]ed|permitted|supported|verified|activated|active|enabled|entitled"
    r"|available)", r"must (?:\w+ ){0,3}verif\w+", "unsupported",
    r"(?:no|not have|lacks?|without)(?: \w+){0,2} (?:access|permission)s?", "flagged", r"violat\w+",
    "not (?:exist|open)", "封", "禁用", "冻结", "锁定", "实名", "未认证", "无权", "不支持", "未开通", "异常",
    "not offered",
)  # fmt: skip
LICENCE = ("licen[cs]es?", "entitlements?", "contracts?", "许可证", "授权")
LICENCE_FAULT = (
    "expired", "lapsed", "missing", r"invalid\w*", "not (?:found|valid|active|present)", "no", r"exceed\w*", "revoked",
    "required", "over", "ended", "过期", "失效", "无效",
)  # fmt: skip
RIGHTS_ALONE = (
    "permission denied", "access denied", "access (?:to (?:the|this) model )?(?:is )?(?:denied|forbidden|not allowed)",
    "not authori[sz]ed (?:to|for)", "not licen[cs]ed", r"(?:do|does) not have (?:\w+ ){0,3}(?:access|permission)",
    "unsupported country",
    "model not open", "no (?:access )?permission", "verify your organi[sz]ation", "gated (?:repo|model)",
    r"(?:agree|accept|sign|acknowledge)(?: \w+){0,4} (?:licen[cs]e|terms|agreement)", "无权限", "没有权限", "权限不足",
    "未开通", "实名认证",
)  # fmt: skip
# --- (b) time --------------------------------------------------------------------------------------------------------
PER_MINUTE = (
    r"(?:per|a|an|each|every|/) ?(?:min|minute|sec|second|hour|s|m|h)\b", r"[rtq]p[msh]\b",
    r"\d ?/ ?(?:min|minute|s|sec|hour|m|h)\b", "minutely", r"every \d+ (?:s|m|h)\w*", "allocated quota exceeded",
    r"throttl\w*", r"burst\w*", r"concurren\w+", "# ?token limit", "in parallel", r"simultaneous\w*", "每分钟", "每秒",
    "每小时", "并发", "频率", "限流", "速率", "por minuto", "par minute", "pro minute", "毎分", "분당",
    "(?:this|last|past|current) (?:second|minute|hour)", r"\d+[km]? ?/ ?(?:s|sec|m|min|hour)",
)  # fmt: skip
PER_DAY = (
    r"(?:per|a|each|every|/) ?(?:day|week|month|24 ?h\w*)\b", r"[rt]p[d]\b", "daily", "weekly", "monthly", "today",
    "this (?:month|week|day)", "24 hours", "每天", "每日", "当日", "今日", "每月", "本月", "每周", r"diari\w+",
    r"mensu\w+", r"quotidien\w*", r"täglich\w*", "日次", "月次",
)  # fmt: skip
RATE = (
    r"rate ?limit\w*", "rate exceeded", "rate quota", "request rate",
    r"too many (?:\w+ )?(?:requests?|calls|connections|tokens,? please wait)", r"throttl\w*", "slow(?:ing)? down",
    "requests? limit (?:is |has been |was )?(?:reached|exceeded|hit)", "too (?:frequent|fast|quickly)",
    r"concurren\w+ (?:\w+ ){0,3}(?:limit|exceed|reach|too)\w*",
    r"(?:limit|exceed\w*|reach\w*|too many|maximum)(?: \w+){0,6} concurren\w+", "back off", "max rpm", "tpm limit",
    "rpm limit", "qps limit",
    r"(?:tokens?|requests?|queries|calls)(?: \w+){0,2} (?:per|a|/) ?(?:min|minute|sec|second|hour|day)", "请求过于频繁",
    "请求过多", "频率", "限流", "速率", "并发", "过快", "使用率", "请求数", "demasiadas", "trop de requêtes",
    "zu viele anfragen", "リクエストが多", r"слишком много запрос\w*", "요청이 너무", "操作太频繁",
    "rates? (?:is |are )?too high", "token rate", "flow (?:control|limit)", "faster than",
)  # fmt: skip
WAIT = (
    r"(?:try|retry|again)(?: \w+){0,2} (?:in|after|later)", "please (?:wait|retry)",
    r"wait (?:a|for|until|\d|before|and)", "later", "slow down", r"in \d[\d.]* ?(?:s|m|h)\w*", "稍后", "稍候", "秒后",
    "más tarde", "plus tard", "später",
)  # fmt: skip
BUSY = (
    r"overload\w*", "over ?capacity", "at capacity",
    r"(?:no|insufficient|lack of|out of|exceed\w*|flex)(?: \w+){0,2} (?:capacity|workers?|instances?|replicas?"
    r"|resources?)", "too busy", r"saturat\w+",
    r"(?:server|service|(?<!role )system(?! (?:role|message|prompt|instruction|turn)s?\b)|engine|model|endpoint"
    r"|worker)s?(?: \w+){0,3} (?:busy|loading|starting|warming" r"|overloaded|unavailable)", "busy",
    "high (?:demand|load|traffic)", "heavy (?:load|traffic)", "loading (?:the )?(?:model|checkpoint|weights|shards)",
    "cold start", "queue (?:is )?full", "temporarily (?:unavailable|overloaded|rate)", "service unavailable",
    r"scal\w+ up", "(?:no|zero) idle (?:workers?|instances?|gpus?)", "maximum pending", "model not ready",
    "not ready(?: yet)?", "still loading", "being loaded", "繁忙", "过载", "负载", "访问量过大", "忙", "混雑",
    r"sobrecargad\w*", r"surchargé\w*", "überlastet",
)  # fmt: skip
PASSES = (
    r"(?:try|retry|trying)(?: \w+){0,3} (?:again|later|shortly|soon|request)", "retry", r"re ?(?:send|submit)\b",
    "shortly", "in a moment", "once more", r"interrupt\w*", "dropped (?:out|off)", "(?:went|gone) away", r"temporar\w+",
    r"transient\w*", r"intermittent\w*", r"time ?d? ?out\w*", r"timeout\w*", "deadline exceeded",
    r"(?:connection|connect|socket|stream|network|upstream)(?: \w+){0,4} (?:reset|refused|closed|error|aborted"
    r"|lost|broken|fail\w*|disconnect\w*|terminat\w*)",
    r"(?:reset|refused|closed|lost|failed|broken)(?: \w+){0,2} (?:connection|upstream|stream)", "upstream",
    "bad gateway", "server had an error", "broken pipe", "maintenance", r"restart\w*", "network error",
    "engine (?:is )?(?:dead|process)", "engine dead error", "请稍后", "超时", "重试", "暂时", "网络错误",
)  # fmt: skip
# --- (c) the provider's filter ---------------------------------------------------------------------------------------
FILTER = (
    r"content (?:was |is |has been )?filter\w*", "filtered",
    r"content (?:management |safety |usage |moderation )?polic\w+",
    r"(?:usage|acceptable use|safety|content|community|responsible ai) (?:polic\w+|guidelines)(?: violation)?",
    r"content violat\w+", r"moderat\w+", "inappropriate",
    r"(?:harmful|unsafe|offensive|sensitive|prohibited|objectionable|illegal|disallowed|hateful|hate|violent"
    r"|sexual|explicit|toxic|abusive|dangerous)(?: \w+){0,3} (?:content|words?|information|material|text|input"
    r"|prompt|topics?)",
    r"(?:content|input|prompt|output|text|message|request)s?(?: \w+){0,4} (?:flagged|unsafe|sensitive|harmful"
    r"|prohibited|inappropriate|offensive|illegal|blocked)", "flagged (?:as|for|by)", "data ?inspection ?failed",
    r"safety (?:system|filter|setting|check|reason|policy|guard|classifier|layer|model|net|rule)\w*",
    r"contains?(?: \w+){0,2} (?:personal(?:ly)? (?:data|identif\w+|information)|pii)", "self harm",
    "guard ?rails?", r"jail ?break\w*", "content exists risk", "(?:considered |content )?high risk", "content risk",
    "risk control", r"sensitive content\w*", "prompt(?: was)? blocked", "block ?reason", r"responsible ai\w*",
    r"violat\w+(?: \w+){0,4} (?:polic\w+|guidelines|terms|rules?)", "content (?:security|safety)", "invalid prompt",
    r"polic\w+ violat\w+", r"use polic\w+",
    "prompt injection", "敏感", "违规", "不安全", "不合规", "涉政", "色情", "风险", "违反", "审核", "内容安全",
    "toxic(?:ity)?", "profanity", "inhaltsfilter", "dlp", "data loss prevention", "不適切", r"inapropiad\w+",
    r"unangemessen\w*",
    r"inappropri\w+", r"modération", r"moderación", r"unzulässig\w*",
)  # fmt: skip
TEXT_PART = (
    "(?:user |this |that )?(?:text|prompt|message|content|input|output|conversation|wording|question|query|response"
    "|reply|answer|completion)s?", "内容", "文本", "输入", "提示词", "消息", "问题", r"contenido", "inhalt", "contenu",
)  # fmt: skip
TURNED_AWAY = (
    r"block\w*", r"reject\w*", r"refus\w*", r"den(?:y|ied)", r"stopped", r"withheld", r"intercept\w*", r"quarantin\w*",
    r"caught", r"tripped", r"trigger\w*", r"violat\w*", r"breach\w*", r"breaks? (?:our|the)", r"against (?:our|the)",
    r"not (?:be )?(?:\w+ )?(?:allowed|permitted|accept\w*|process\w*|appropriate|comply|compliant|suitable|safe)",
    r"unaccept\w*", r"prohibit\w*", r"forbid\w*", r"disallow\w*", "拦截", "拒绝", "禁止", "屏蔽", "违反", "不允许",
    r"bloque\w*", r"rechaz\w*", r"blockiert", r"refusé\w*",
)  # fmt: skip
# --- (d) tools, roles and other features -----------------------------------------------------------------------------
UNSUPPORTED = (
    "unsupported", "no longer",
    r"not (?:\w+ ){0,2}(?:support\w*|allowed|permitted|available|enabled|accepted|implemented|valid|recogni[sz]ed"
    r"|compatible|configurable)", "unrecogni[sz]ed", "unknown", "unexpected", "extra (?:forbidden|inputs?|fields?)",
    "forbidden", "deprecated", "incompatible",
    "(?:cannot|can not|must not|may not|should not) be (?:used|set|specified|combined|provided|sent|modified"
    "|changed|present)",
    "(?:cannot|unable to|does not|do not|not able to) (?:use|support|accept|handle|take|allow|recogni[sz]e|process)",
    "only (?:supports?|allows?|accepts?|the default)", "no support", "requires?", "remove", "without support",
    "support(?:s|ed)? only", r"refus\w+", "disabled",
    r"must be (?:omitted|unset|removed|left out|none|null|absent|1\b|default|false|true)", "不支持", "不允许", "不可用",
    "未启用", "サポートされていません", r"no (?:es )?(?:soporta|compatible)\w*", "nicht unterstützt",
)  # fmt: skip
TOOLS = (
    "tools?(?! call ids?)", "tool ?choice", "tool ?(?:use|calls?|calling)", "functions?(?: ?call(?:s|ing)?)?", "工具",
    "函数调用", "werkzeuge?n?", "herramientas", "outils", "funktionsaufrufe?", "ツール",
)  # fmt: skip
NAMED_TOOL = (
    "tool names?", "function names?", "parallel tool calls?", "schemas?", r"propert\w+", "keywords?",
)  # fmt: skip
NO_TOOLS = (
    *UNSUPPORTED[:1], "cannot do", "(?:feature|capability) (?:is )?off", r"unterstützt kein\w*", "nicht unterstützt",
    r"no (?:admite|soporta)\w*", "prend pas en charge",
    r"(?:do|does|did|can) ?not (?:\w+ ){0,2}(?:support|accept|allow|handle|use)\w*",
    "cannot (?:use|handle|call)", r"not (?:\w+ ){0,2}(?:supported|enabled|available|allowed|implemented|permitted)",
    r"not support\w*", "no support", "no endpoints found", "not enabled", "without (?:an? )?(?:tool|function)",
    "disabled", "(?:switched|turned) off", "ignored", r"(?:is|are|be) (?:refus|reject)\w+",
    "requires? (?:flag )?enable auto",
    "requires? (?:the )?jinja", "flag", r"(?:needs?|requires?)(?: \w+){0,3} (?:enabl\w*|parsers?|plugins?|switch\w*)",
    r"(?:launch|start|run|serv)\w*(?: \w+){0,4} with", "lacks?", "incapable", "not capable", "has no", "不支持",
    "未启用", "unavailable",
    r"not (?:\w+ ){0,2}accepted",
)  # fmt: skip
# --- (e) key and model -----------------------------------------------------------------------------------------------
KEY = (
    "api ?(?:keys?|tokens?)", "apikey", "(?:access|security|session|identity|refresh) ?(?:token|key)s?",
    "(?:app|client|project|virtual|service|user) keys?", "bearer(?: token)?", "jwt", "credentials?",
    r"authenticat\w+", "auth ?token", "authori[sz]ation(?: header)?",
    "auth", "subscription key", "secret key", "密钥", "令牌", "鉴权", "认证", "apiキー", "clave", "schlüssel",
)  # fmt: skip
KEY_FAULT = (
    r"invalid\w*", "incorrect", "wrong", "expired", "revoked", "missing",
    r"not (?:valid|provided|found|recogni[sz]ed|exist|correct|passed|supplied|set|verif\w*)", "no", "malformed",
    r"fail\w*",
    "unauthori[sz]ed", "absent", r"suspend\w*", "locked", "not be verified", "past (?:its|the)", "deleted",
    "disabled", "required", "bad",
    "provide", "unknown", "denied", r"reject\w*", "无效", r"auth\w* error", "错误", "过期", "失败", "不正确", "未提供",
    "缺失", "不存在", r"inválid\w+", r"ungültig\w*",
)  # fmt: skip
TOKEN_OF_ACCESS = (
    r"(?:the|your|this|supplied|provided) tokens?(?! (?:count|limit|budget|quota|window|bucket|pack\w*))",
)
TOKEN_FAULT = ("revoked", "expired", "past its", r"not (?:be )?verif\w*", "token revoked", "token expired")
# --- (f) templates and requests --------------------------------------------------------------------------------------
TEMPLATE = (
    r"jinja\w*", "chat template", "template error", r"templat\w+ (?:render\w*|syntax|fail\w*)",
    "apply(?:ing)? (?:chat )?template", "undefined error", "roles must alternate", "raise exception",
)  # fmt: skip
REQUEST_PART = (
    r"param\w*", "fields?", r"argument\w*", "propert(?:y|ies)", "values?", "roles?", "messages?", "body", "json",
    "schemas?", "tools?", "functions?", "temperature", "top [pk]", "stop", "system", "assistant", "user", "content",
    "format", "keys?", "headers?", "options?", r"enum\w*", "string", "array", "integer", "number", "object", "type",
    "input", "prompt", "max tokens", "tool ?choice", "reasoning(?: effort)?", "thinking", "images?", "seed",
    "logprobs?", r"stream\w*", "penalty", "参数", "字段", "格式", "消息", "パラメータ", r"parámetro\w*",
)  # fmt: skip
WRONG = (
    r"invalid\w*", "missing", "unexpected", "unknown", "required", "must", "should", "expected", "malformed",
    "illegal", "validation", "unprocessable",
    r"(?:fail\w*|could not|cannot|unable to) (?:to )?(?:parse|deserialize|decode|validate|understand|process)",
    "out of range", "too (?:long|large|many|small|short|big)", "above max", "longer", "larger", r"exceed\w*",
    "more than", "at least", "at most", "duplicate", "mismatch", r"conflict\w*", "empty", "none is not", "cannot be",
    r"not (?:a|an|be|in|match\w*|one of)", "errors? (?:parsing|decoding|in)", "bad", "incorrect", "wrong", "alternate",
    r"follow\w*", r"preced\w*", *UNSUPPORTED, "错误", "无效", "非法", "不合法", "缺少", "有误", "不能为空", "不正确",
    r"inválid\w+",
)  # fmt: skip
VAGUE = (
    "invalid argument", r"invalid request\w*(?: error)?", r"bad request\w*",
    "(?:the )?request (?:is |was )?(?:invalid|malformed|bad)", "request contains an invalid argument",
    "unprocessable entity",
)  # fmt: skip
CALL_UNREADABLE = (
    "tool use failed",
    r"(?:fail\w*|could not|cannot|unable|error|invalid|malformed|unparse?able)(?: \w+){0,6} (?:tool"
    r"|function)s?(?: ?call\w*)?",
    r"fail\w* to (?:parse|generate|decode|validate)(?: \w+){0,2} (?:json|input|output|response|generation|tool\w*"
    r"|function\w*)", "json validate failed", r"fail\w* to (?:call|adhere)",
    r"(?:tool|function) ?calls?(?: \w+){0,4} (?:fail\w*|invalid|malformed|not (?:be )?(?:parsed|valid))",
)  # fmt: skip
