import re
from typing import Any, TypedDict

from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime

dims = 64


async def embed(texts: list[str]) -> list[list[float]]:
    """An embedding without a model: each word counts in one of a vector's places, so texts that share words are near."""
    refused = next((text for text in texts if "unspeakable" in text), None)
    if refused is not None:
        raise ValueError(f'no words for "{refused}"')
    return [vector_of(text) for text in texts]


def vector_of(text: str) -> list[float]:
    vector = [0.0] * dims
    for word in re.findall(r"[^\W\d_]+", text.lower()):
        place = 7
        for letter in word:
            place = (place * 31 + ord(letter)) % dims
        vector[place] += 1
    return vector


class State(TypedDict, total=False):
    text: str
    question: str
    found: Any


async def recall(state: State, runtime: Runtime) -> State:
    """Remembers a text and looks for what is near to a question."""
    store = runtime.store
    assert store is not None
    await store.aput(("graph",), "text", {"text": state["text"]})
    hits = await store.asearch(("graph",), query=state["question"])
    return {"found": [[hit.key, (hit.score or 0) > 0.5] for hit in hits]}


graph = StateGraph(State).add_node(recall).add_edge(START, "recall").compile()
