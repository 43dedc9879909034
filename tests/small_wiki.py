"""A small encyclopedia, written by a seeded grammar: the same articles on every machine.

There is something to find in it. Words of a topic occur together. Nouns for men and women differ in
their pronouns, countries share companions with their capitals and adjectives, and forms of a word
differ in the place that they take in a sentence. Frequencies are uneven, two names are two words
each (united states, new york), and every word that the documentation names is there.
"""

from __future__ import annotations

import random
from functools import cache
from itertools import accumulate
from typing import NamedTuple, TypeVar

Item = TypeVar("Item")

GENDERS = """\
man woman, men women, king queen, prince princess, duke duchess, boy girl, father mother,
son daughter, brother sister, husband wife, uncle aunt, actor actress, male female,
grandfather grandmother, nephew niece, groom bride"""
"""Nouns that differ in gender, as pairs."""
PRONOUNS = "he she, his her, himself herself"
COUNTRIES = """\
france paris french, germany berlin german, england london english, spain madrid spanish,
italy rome italian, russia moscow russian, china beijing chinese, japan tokyo japanese,
greece athens greek, egypt cairo egyptian, sweden stockholm swedish, norway oslo norwegian,
canada ottawa canadian, poland warsaw polish, ireland dublin irish, portugal lisbon portuguese,
australia canberra australian, switzerland bern swiss, denmark copenhagen danish,
thailand bangkok thai, ukraine kiev ukrainian, mexico mexico_city mexican, austria vienna austrian,
india delhi indian, israel jerusalem israeli, united_states washington american"""
CITIES = "new_york hamburg liverpool barcelona milan geneva shanghai osaka sydney toronto boston"
MONTHS = "january february march april june july august september october november december"
NUMBERS = "two three four five six seven eight nine ten many"
TOPICS = {
    "government": (
        "government law election minister president council commission state vote party citizen "
        "parliament treaty lawyer court",
        "political national public legal federal local",
        "appoint elect govern vote establish propose",
    ),
    "sport": (
        "football team player game championship victory tournament season coach cup league club "
        "tennis soccer goal",
        "final winning olympic fast strong",
        "score train play compete kick",
    ),
    "court": (
        "palace crown throne castle knight court dynasty noble kingdom empire servant banner",
        "royal noble ancient loyal golden",
        "rule inherit marry reign crown",
    ),
    "war": (
        "army war soldier world_war battle general officer troop weapon attack enemy border siege",
        "military armed defeated allied brave",
        "attack defend surrender conquer destroy capture",
    ),
    "music": (
        "music song band album singer guitar piano concert violin opera melody drum jazz rock tune",
        "musical popular classical loud",
        "perform record compose release tour",
    ),
    "stage": (
        "film theatre movie star scene drama director role audience television radio media critic",
        "comic famous dramatic modern",
        "direct film act rehearse premiere",
    ),
    "science": (
        "science theory physics chemistry experiment computer software planet energy laboratory "
        "professor machine keyboard atom",
        "scientific exact physical mathematical new",
        "discover measure observe compute publish prove",
    ),
    "animals": (
        "cat dog horse bird tiger lion cow eagle elephant goat pig monkey snake rat animal forest",
        "wild small tame hungry young",
        "chase hunt graze climb feed",
    ),
    "food": (
        "bread butter milk cheese soup onion banana pear melon apple dinner kitchen bottle cabbage",
        "sweet fresh hot cold bitter",
        "cook taste bake serve boil",
    ),
    "home": (
        "family home child marriage love house parent baby birthday garden mother cousin door",
        "happy warm quiet married",
        "love care visit comfort dress",
    ),
    "school": (
        "school student teacher lesson class book university pupil exam essay library paper desk",
        "young clever academic difficult",
        "learn study teach explain graduate",
    ),
    "business": (
        "business company office market money career management bank price factory worker cash",
        "professional economic rich industrial",
        "invest earn manage produce employ trade",
    ),
    "church": (
        "church god prayer bishop priest saint temple faith monk religion soul bible",
        "holy religious sacred eternal",
        "pray bless worship preach",
    ),
    "sea": (
        "ship sailor harbour island captain storm coast wave voyage river boat anchor",
        "distant deep northern southern",
        "sail float explore anchor cross",
    ),
    "city": (
        "city street building road bridge town train car station tower square village",
        "large old crowded eastern western",
        "build travel design repair move",
    ),
    "art": (
        "art painting artist museum colour portrait gallery poet poem novel statue picture",
        "beautiful abstract original bright",
        "paint sketch exhibit describe imagine",
    ),
    "health": (
        "doctor hospital disease patient nurse medicine drug blood heart body hand finger eye",
        "sick healthy medical mental",
        "cure treat suffer recover examine",
    ),
}
"""Of each topic: nouns, adjectives and verbs."""
MEN = {"war": 0.8, "business": 0.75, "government": 0.7, "sport": 0.7, "home": 0.3, "art": 0.35}
"""Share of men among the persons of a topic, where it is not one half."""
PERSONS = {"court": "king prince duke", "stage": "actor", "home": "father son brother husband"}
"""Persons that a topic prefers, in their male form."""
TRAITS = """\
tall calm, patient honest, sovereign wise, heir proud, wealthy stern, playful shy, protective
tender, obedient curious, protecting jealous, engaged faithful, generous distant, talented vain,
adult mature, elderly retired, youngest cheerful, nervous elegant"""
"""What is said of the persons of each pair, and of no others."""
RARE = 20
"""Rare words per topic, made up, which begin alike."""
SENTENCES = """\
the {adjective} {noun} of {country} {past} the {noun}
{person} {past} {his} {noun} in {capital}
the {nationality} {noun} and the {noun} {past} in {month}
{he} was {adjective} and {past} {himself} with the {noun}
{person} was {trait} and {past} {his} {trait} {kin} for the {noun}
{many} {nouns} were {doing} near the {adjective} {nouns}
{capital} is the capital of {country} and the {nationality} {nouns} {past} there
{person} and {his} {kin} will {verb} the {noun} for {country}
in {month} {many} {nouns} of the {noun} began {doing} with {adjective} {nouns}
{he} said that {his} {noun} was more {adjective} than the {noun} of {city}
to {verb} the {noun} {he} needs the {adjective} {noun} from {city}
people in {country} speak {nationality} and {verb} {adjective} {nouns}
the {rare} {noun} was {past} by {person} with {his} {noun}
a {noun} of the {rare} {nouns} had {past} before {month}
{person} {himself} has been {doing} the {nouns} of {capital}"""


_GENDERS, _PRONOUNS = ([tuple(p.split()) for p in t.split(",")] for t in (GENDERS, PRONOUNS))
_TRAITS = [traits.split() for traits in TRAITS.split(",")]
_COUNTRIES = [tuple(row.split()) for row in COUNTRIES.split(",")]


class Topic(NamedTuple):
    """The words of a topic, most frequent first."""

    name: str
    nouns: list[str]
    adjectives: list[str]
    verbs: list[str]
    rare: list[str]


@cache
def small_wiki(articles: int = 160, seed: int = 0) -> tuple[str, ...]:
    """Return articles of 500 to 700 words each, 97,000 words in all."""
    draw = random.Random(seed)
    return tuple(_article(draw) for _ in range(articles))


def gender_pairs() -> list[tuple[str, str]]:
    """Return the nouns and pronouns that differ in gender, male first."""
    return [(a, b) for a, b in (*_GENDERS, *_PRONOUNS)]


def country_table() -> list[tuple[str, str, str]]:
    """Return countries, capitals and adjectives of one word each."""
    return [(a, b, c) for a, b, c in _COUNTRIES if "_" not in a + b]


def topic_words() -> dict[str, set[str]]:
    """Return every word of each topic, except for names and persons."""
    return {
        topic.name: {
            *topic.nouns,
            *map(_plural, topic.nouns),
            *topic.adjectives,
            *topic.verbs,
            *(_ending(verb, ending) for verb in topic.verbs for ending in ("ed", "ing")),
            *topic.rare,
        }
        for topic in _TOPICS
    }


def _article(draw: random.Random) -> str:
    topic, country = _pick(draw, _TOPICS), _pick(draw, _COUNTRIES)
    length, sentences, words = draw.randint(500, 700), [], 0
    while words < length:
        here = topic if draw.random() < 0.8 else draw.choice(_TOPICS)
        there = country if draw.random() < 0.7 else draw.choice(_COUNTRIES)
        sentence = _sentence(draw, here, there).replace("_", " ")
        words += len(sentence.split())
        sentences.append(sentence[0].upper() + sentence[1:] + ".")
    return " ".join(sentences)


def _sentence(draw: random.Random, topic: Topic, country: tuple[str, ...]) -> str:
    woman = draw.random() > MEN.get(topic.name, 0.5)
    person = draw.randrange(len(_GENDERS))
    if topic.name in PERSONS and draw.random() < 0.8:
        names = PERSONS[topic.name].split()
        person = draw.choice([k for k, pair in enumerate(_GENDERS) if pair[0] in names])
    he, his, himself = (pair[woman] for pair in _PRONOUNS)
    verb = _pick(draw, topic.verbs)
    fields = {
        "country": country[0].title(),
        "capital": country[1].title(),
        "nationality": country[2].title(),
        "city": _pick(draw, CITIES.split()).title(),
        "month": _pick(draw, MONTHS.split()).title(),
        "many": _pick(draw, NUMBERS.split()),
        "he": he,
        "his": his,
        "himself": himself,
        "person": f"the {_GENDERS[person][woman]}",
        "kin": _GENDERS[person][not woman],
        "trait": draw.choice(_TRAITS[person]),
        "verb": verb,
        "past": _ending(verb, "ed"),
        "doing": _ending(verb, "ing"),
        "rare": draw.choice(topic.rare),
    }
    words = []
    for word in draw.choice(SENTENCES.splitlines()).split():
        if word in ("{noun}", "{nouns}"):
            noun = _pick(draw, topic.nouns)
            words.append(_plural(noun) if word == "{nouns}" else noun)
        elif word == "{adjective}":
            words.append(_pick(draw, topic.adjectives))
        else:
            words.append(word.format_map(fields))
    return " ".join(words)


def _pick(draw: random.Random, items: list[Item]) -> Item:
    """Draw one of some items, the first ones more often."""
    return draw.choices(items, cum_weights=_weights(len(items)))[0]


@cache
def _weights(count: int) -> list[float]:
    return list(accumulate((rank + 4) ** -0.8 for rank in range(count)))


def _rare_words(number: int) -> list[str]:
    """Return made-up words that begin alike, such as tarem and taron."""
    start = "btdkglmnprsvzfhcw"[number] + "aeiou"[number % 5]
    return [start + a + b + c for a in "rln" for b in "eaoi" for c in "mnst"][:RARE]


def _plural(noun: str) -> str:
    if noun == "child":
        return "children"
    if noun.endswith("y") and noun[-2] not in "aeo":
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "ch", "x")) else "s")


def _ending(verb: str, ending: str) -> str:
    if ending == "ed" and verb.endswith("y") and verb[-2] not in "ae":
        return verb[:-1] + "ied"
    return (verb[:-1] if verb.endswith("e") else verb) + ending


_TOPICS = [
    Topic(name, nouns.split(), adjectives.split(), verbs.split(), _rare_words(number))
    for number, (name, (nouns, adjectives, verbs)) in enumerate(TOPICS.items())
]
