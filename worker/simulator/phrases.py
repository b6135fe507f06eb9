"""The language of a question, and the few sentences that the practice model can say in it."""

from __future__ import annotations

import re

_SCRIPTS = (
    ("ja", re.compile(r"[\u3040-\u30ff]")),
    ("ko", re.compile(r"[\uac00-\ud7af]")),
    ("zh", re.compile(r"[\u4e00-\u9fff]")),
    ("ru", re.compile(r"[\u0400-\u04ff]")),
)
_STOPWORDS = {
    "en": "the what is are how many of in and it which time from now when a use to",
    "es": "qué cuál cuánto cuánta cuántos cuántas es el la los las de en y hora cómo son dentro hace tiempo un una",
    "de": "was wie viel viele ist der die das und in ein eine uhr wetter welcher spät es von stunden im wort hat",
    "fr": "quel quelle quels est le la les de et en un une combien heure temps fait il dans à des du mot y a",
    "it": "che quale quanto quanti è il lo la di e in un una ora ore tempo fa sono nella parola ci",
    "pt": "qual quanto quantos é o a os as de e em um uma hora horas tempo são que daqui na palavra há",
}
_WORDS = {language: frozenset(words.split()) for language, words in _STOPWORDS.items()}

# Column order of the table below.
_LANGUAGES = ("en", "zh", "es", "de", "fr", "ja", "it", "pt", "ru", "ko")
_TABLE = {
    "act": (
        "I will use {x} for this.",
        "我用 {x} 来查。",
        "Usaré {x} para esto.",
        "Dafür nehme ich {x}.",
        "J'utilise {x} pour cela.",
        "{x} を使います。",
        "Uso {x} per questo.",
        "Vou usar {x} para isso.",
        "Для этого возьму {x}.",
        "{x} 도구를 쓰겠습니다.",
    ),
    "retry": (
        "That did not work; I try another way: {x}.",
        "没有成功，换个办法：{x}。",
        "No funcionó; pruebo de otro modo: {x}.",
        "Das ging nicht; ich versuche es anders: {x}.",
        "Cela n'a pas marché ; j'essaie autrement : {x}.",
        "うまくいかないので、別の方法を試します：{x}。",
        "Non ha funzionato; provo in altro modo: {x}.",
        "Não funcionou; tento de outro modo: {x}.",
        "Не вышло; попробую иначе: {x}.",
        "안 되어 다른 방법을 씁니다: {x}.",
    ),
    "done": (
        "I know the answer now.",
        "现在知道答案了。",
        "Ya sé la respuesta.",
        "Jetzt weiß ich die Antwort.",
        "Je connais la réponse.",
        "答えがわかりました。",
        "Ora so la risposta.",
        "Já sei a resposta.",
        "Теперь ответ известен.",
        "이제 답을 알겠습니다.",
    ),
    "unknown": (
        "I do not know the answer.",
        "我不知道答案。",
        "No sé la respuesta.",
        "Das weiß ich nicht.",
        "Je ne connais pas la réponse.",
        "答えはわかりません。",
        "Non so la risposta.",
        "Não sei a resposta.",
        "Я не знаю ответа.",
        "답을 모르겠습니다.",
    ),
    "now": (
        "It is {x}.",
        "现在是 {x}。",
        "Ahora es: {x}.",
        "Es ist jetzt: {x}.",
        "Il est : {x}.",
        "現在は {x} です。",
        "Adesso è: {x}.",
        "Agora é: {x}.",
        "Сейчас: {x}.",
        "지금은 {x}입니다.",
    ),
    "then": (
        "It will be {x}.",
        "那时是 {x}。",
        "Será: {x}.",
        "Das ist dann: {x}.",
        "Ce sera : {x}.",
        "その時は {x} です。",
        "Sarà: {x}.",
        "Será: {x}.",
        "Это будет: {x}.",
        "그때는 {x}입니다.",
    ),
    "apart": (
        "The clocks are {x} apart.",
        "时差 {x}。",
        "La diferencia es de {x}.",
        "Der Unterschied beträgt {x}.",
        "Le décalage est de {x}.",
        "時差は {x} です。",
        "La differenza è di {x}.",
        "A diferença é de {x}.",
        "Разница: {x}.",
        "시차는 {x}입니다.",
    ),
    "demo": (
        "(Demo data.)",
        "（演示数据）",
        "(Datos de demostración.)",
        "(Beispieldaten.)",
        "(Données de démonstration.)",
        "（デモ用データ）",
        "(Dati dimostrativi.)",
        "(Dados de demonstração.)",
        "(Демонстрационные данные.)",
        "(예시 데이터)",
    ),
    "weather": (
        "The weather: {x}.",
        "天气：{x}。",
        "El tiempo: {x}.",
        "Das Wetter: {x}.",
        "La météo : {x}.",
        "天気：{x}。",
        "Il tempo: {x}.",
        "O tempo: {x}.",
        "Погода: {x}.",
        "날씨: {x}.",
    ),
    "sight": (
        "A sight that suits it: {x}.",
        "适合去的景点：{x}。",
        "Un lugar adecuado: {x}.",
        "Dazu passt diese Sehenswürdigkeit: {x}.",
        "Un site qui s'y prête : {x}.",
        "おすすめの観光地：{x}。",
        "Un luogo adatto: {x}.",
        "Um lugar adequado: {x}.",
        "Подходящее место: {x}.",
        "어울리는 명소: {x}.",
    ),
    "partial": (
        "As far as I got: {x}",
        "目前所知：{x}",
        "Hasta donde llegué: {x}",
        "So weit bin ich gekommen: {x}",
        "Voici ce que j'ai trouvé : {x}",
        "ここまでの結果：{x}",
        "Finora ho trovato: {x}",
        "Até onde cheguei: {x}",
        "Пока известно: {x}",
        "지금까지의 결과: {x}",
    ),
}


def language_of(text: str) -> str:
    """A two-letter code; `en` where nothing points elsewhere. Scripts decide first, then small words."""
    for language, script in _SCRIPTS:
        if script.search(re.sub(r"[\"'“”«»„‘’「」].*?[\"'“”«»„‘’「」]", "", text)):
            return language
    if re.search("[¿¡]", text):
        return "es"
    words = re.findall(r"[^\W\d_]+", text.lower())
    return max(_WORDS, key=lambda language: sum(word in _WORDS[language] for word in words))


def phrase(language: str, key: str, x: str = "") -> str:
    """The sentence `key` in `language`, with `x` put in."""
    column = _LANGUAGES.index(language) if language in _LANGUAGES else 0
    return _TABLE[key][column].replace("{x}", x)


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
_WEEKDAY = re.compile(r"\b(?:" + _WEEKDAYS["en"].replace(" ", "|") + r")\b")


def dated(language: str, moment: str) -> str:
    """A moment as a tool writes it, with the weekday's name in `language`."""
    names = dict(zip(_WEEKDAYS["en"].split(), _WEEKDAYS.get(language, _WEEKDAYS["en"]).split(), strict=True))
    return _WEEKDAY.sub(lambda match: names[match[0]], moment).replace("(UTC, UTC+00:00)", "(UTC)")
