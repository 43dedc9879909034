"""A text made up of topics: the words of a sentence share one, and little else is to be learned."""

from __future__ import annotations

import random

TOPICS = {
    "court": "king queen prince crown throne palace knight castle duke royal herald banner",
    "sea": "ship sailor harbour wave anchor captain storm island mast rope tide gull",
    "kitchen": "bread butter oven salt pepper knife soup onion plate spoon flour sugar",
    "music": "song violin piano drum choir melody concert singer guitar tune opera note",
    "garden": "rose tree flower seed soil rain leaf spade root branch apple bee",
    "school": "teacher pupil lesson book pencil class desk chalk exam essay grade library",
}
COMMON = ("the", "a", "of", "and", "in", "to", "is", "was", "for", "with", "on", "at", "by", "from")


def topic_documents(sentences: int = 3000, seed: int = 0) -> list[str]:
    """Return sentences of ten words, four of them from one topic."""
    draw = random.Random(seed)
    topics = [words.split() for words in TOPICS.values()]
    made = []
    for _ in range(sentences):
        words = draw.sample(draw.choice(topics), 4) + draw.choices(COMMON, k=6)
        draw.shuffle(words)
        made.append(" ".join(words).capitalize() + ".")
    return made


def topic_of(word: str) -> str:
    """Return the topic of a word that has one."""
    return next(topic for topic, words in TOPICS.items() if word in words.split())
