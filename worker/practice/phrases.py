"""The language of a question, and the few sentences that the practice model can say in it."""

from __future__ import annotations

import re

_SCRIPTS = (
    ("ja", re.compile(r"[\u3040-\u30ff]")),
    ("ko", re.compile(r"[\uac00-\ud7af]")),
    ("zh", re.compile(r"[\u4e00-\u9fff]")),
    ("ru", re.compile(r"[\u0400-\u04ff]")),
)
_QUOTED = re.compile(r"[\"“„«「].*?[\"”“»」]")
_SMALL_WORDS = {
    "en": "the what is how many of in and it which time from now use to",
    "es": "qué cuál cuánto es el la los de en y hora un una",
    "de": "was wie ist ergibt der die das und in ein es von um",
    "fr": "quel quelle est le la les combien font il dans heure",
    "it": "che quale quanto fa è il la di sono a ora le",
    "pt": "qual quanto é o a os de em são que",
}
_SAYINGS = ("act", "done", "unknown", "partial", "time", "weather", "sight")
_SAID = {
    "en": "I will use {x} for this.|I know the answer now.|I do not know the answer.|As far as I got: {x}"
    "|The time: {x}|The weather: {x}|A sight that suits it: {x}",
    "zh": "我用 {x} 来查。|现在知道答案了。|我不知道答案。|目前所知：{x}|时间：{x}|天气：{x}|适合去的景点：{x}",
    "es": "Usaré {x} para esto.|Ya sé la respuesta.|No sé la respuesta.|Hasta donde llegué: {x}"
    "|La hora: {x}|El tiempo: {x}|Un lugar adecuado: {x}",
    "de": "Dafür nehme ich {x}.|Jetzt weiß ich die Antwort.|Das weiß ich nicht.|So weit bin ich gekommen: {x}"
    "|Die Zeit: {x}|Das Wetter: {x}|Dazu passt: {x}",
    "fr": "J'utilise {x} pour cela.|Je connais la réponse.|Je ne connais pas la réponse.|Voici ce que j'ai trouvé : {x}"
    "|L'heure : {x}|La météo : {x}|Un site qui s'y prête : {x}",
    "ja": "{x} を使います。|答えがわかりました。|答えはわかりません。|ここまでの結果：{x}"
    "|時刻：{x}|天気：{x}|おすすめの観光地：{x}",
    "it": "Uso {x} per questo.|Ora so la risposta.|Non so la risposta.|Finora ho trovato: {x}"
    "|L'ora: {x}|Il tempo: {x}|Un luogo adatto: {x}",
    "pt": "Vou usar {x} para isso.|Já sei a resposta.|Não sei a resposta.|Até onde cheguei: {x}"
    "|A hora: {x}|O tempo: {x}|Um lugar adequado: {x}",
    "ru": "Для этого возьму {x}.|Теперь ответ известен.|Я не знаю ответа.|Пока известно: {x}"
    "|Время: {x}|Погода: {x}|Подходящее место: {x}",
    "ko": "{x} 도구를 쓰겠습니다.|이제 답을 알겠습니다.|답을 모르겠습니다.|지금까지의 결과: {x}"
    "|시간: {x}|날씨: {x}|어울리는 명소: {x}",
}
_WEEKDAYS = {
    "en": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    "zh": "星期一 星期二 星期三 星期四 星期五 星期六 星期日",
    "es": "lunes martes miércoles jueves viernes sábado domingo",
    "de": "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag",
    "fr": "lundi mardi mercredi jeudi vendredi samedi dimanche",
    "ja": "月曜日 火曜日 水曜日 木曜日 金曜日 土曜日 日曜日",
    "it": "lunedì martedì mercoledì giovedì venerdì sabato domenica",
    "pt": "segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado domingo",
    "ru": "понедельник вторник среда четверг пятница суббота воскресенье",
    "ko": "월요일 화요일 수요일 목요일 금요일 토요일 일요일",
}


def language_of(text: str) -> str:
    """Returns a two-letter code; `en` by default. Scripts outside quotes decide first, then small words."""
    unquoted = _QUOTED.sub("", text)
    for language, script in _SCRIPTS:
        if script.search(unquoted):
            return language
    words = re.findall(r"[^\W\d_]+", text.lower())
    return max(_SMALL_WORDS, key=lambda language: sum(word in _SMALL_WORDS[language].split() for word in words))


def phrase(language: str, saying: str, x: str = "") -> str:
    """Returns the sentence `saying` in `language`, with `x` inserted."""
    return _SAID[language].split("|")[_SAYINGS.index(saying)].replace("{x}", x)


def dated(language: str, moment: str) -> str:
    """Returns a tool's timestamp with the weekday's name in `language`."""
    for english, name in zip(_WEEKDAYS["en"].split(), _WEEKDAYS[language].split(), strict=True):
        moment = moment.replace(english, name)
    return moment
