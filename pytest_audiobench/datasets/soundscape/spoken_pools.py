"""The bundled pools with whole sentences in the six languages of SoundScape-Bench, spoken by espeak-ng at run time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache

from pytest_audiobench.audio import synthesis
from pytest_audiobench.audio.clip import Clip
from pytest_audiobench.datasets.soundscape.bundled_pools import bundled_pools
from pytest_audiobench.datasets.soundscape.pieces import Piece, Pools

NOTE = "synthetic voices in six languages by espeak-ng and computed sounds; no vocal bursts; nobody felt anything"

# Voices and rates that no listener of this package was trained on (fixtures/making/voices.py).
_VOICES = ("m2", "m4", "m6", "f4", "Andy", "Michael", "linda", "Diogo")
_STYLES = {125: "unhurried, level voice", 165: "level voice at a moderate pace", 215: "fast, level voice"}
_ACCENTS = {"en": "en-us", "de": "de", "fr": "fr", "es": "es", "nl": "nl", "zh": "cmn"}
_SENTENCES: Mapping[str, tuple[str, ...]] = {
    "en": (
        "the train to the coast leaves from the other platform today",
        "we should plant the tomatoes before it starts to rain",
        "my sister called from the airport an hour ago",
        "there is some soup left in the kitchen if you are hungry",
        "nobody told me that the meeting was moved to Thursday",
        "he repaired the old radio with a piece of copper wire",
    ),
    "de": (
        "der Zug nach Hamburg hat heute eine halbe Stunde Verspätung",
        "wir haben gestern Abend lange auf dem Balkon gesessen",
        "kannst du bitte noch Brot und Milch mitbringen",
        "das alte Haus am Fluss wird im Frühling verkauft",
        "meine Tante hat drei Katzen und einen großen Garten",
        "am Sonntag fahren wir mit dem Fahrrad in die Berge",
    ),
    "fr": (
        "le train de nuit arrive à Lyon à six heures du matin",
        "nous avons oublié les clés sur la table de la cuisine",
        "ma grand-mère raconte souvent des histoires de son village",
        "il faudrait réparer le toit avant l'hiver",
        "le marché est fermé le lundi et le jeudi",
        "elle apprend à jouer du violon depuis deux ans",
    ),
    "es": (
        "el autobús para el centro pasa cada veinte minutos",
        "mañana vamos a comer en casa de mis abuelos",
        "la biblioteca cierra a las ocho de la tarde",
        "he perdido el paraguas en la estación de tren",
        "el vecino toca la guitarra todas las noches",
        "en verano dormimos con las ventanas abiertas",
    ),
    "nl": (
        "de winkel op de hoek is vandaag gesloten",
        "wij gaan morgen met de boot naar het eiland",
        "mijn broer werkt al tien jaar in een ziekenhuis",
        "het regent bijna elke dag in november",
        "zij heeft haar fiets bij het station gezet",
        "de kinderen spelen na school in het park",
    ),
    "zh": (
        "明天早上我们坐火车去北京",
        "他在图书馆看了一个下午的书",
        "今天的天气比昨天冷多了",
        "请把桌子上的茶杯拿给我",
        "我妹妹在医院工作了三年",
        "这家饭馆的面条很好吃",
    ),
}


@cache
def spoken_pools() -> Pools:
    """Each sentence by two voices, at one of three rates. Raises DataNotFound where espeak-ng is not installed."""
    pools = bundled_pools()
    return replace(pools, name="spoken", layers={**pools.layers, "speech": tuple(_speech())}, note=NOTE)


def _speech() -> Iterator[Piece]:
    rates = list(_STYLES)
    for place, (language, sentences) in enumerate(_SENTENCES.items()):
        for number, text in enumerate(sentences):
            for turn in range(2):
                variant = _VOICES[(place + number + 3 * turn) % len(_VOICES)]
                rate_wpm = rates[(number + turn) % len(rates)]
                (recipe,) = synthesis.speech([text], f"{_ACCENTS[language]}+{variant}", rate_wpm)
                source = f"{language}-{number}-{variant}"
                known = Piece(source, Clip(recipe), text, variant, language=language, licence="CC0-1.0")
                yield replace(known, how="neutral", style=_STYLES[rate_wpm])
