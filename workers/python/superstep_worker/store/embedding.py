"""The project's own embedding, named by `store.index.embed` of langgraph.json."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from langchain_core.embeddings import Embeddings
from langgraph.store.base.embed import ensure_embeddings

from ..connection.frames import Frame
from ..loading.loader import import_export

# A worker's sources never change, so a loaded embedding is cached; a failed one is loaded again.
_known: dict[tuple[str, str], Embeddings] = {}


async def embed_texts(project: str, question: Frame) -> Any:
    """:returns: a vector for each text, which the server validates"""
    key = (project, question.header["embed"])
    if key not in _known:
        _known[key] = await asyncio.to_thread(_load, *key)
    return await _known[key].aembed_documents(json.loads(question.line("texts")))


def _load(project: str, spec: str) -> Embeddings:
    place = spec.rpartition(":")[0]
    is_own = place.endswith(".py") or "/" in place or "." in place
    # A provider's name has no dot, and LangChain knows it: `openai:text-embedding-3-small`.
    exported = import_export(project, spec) if is_own else spec
    if not isinstance(exported, (str, Embeddings)) and not callable(exported):
        raise TypeError(f"{spec} is not an embedding: export a function from texts to vectors, or an Embeddings")
    return ensure_embeddings(exported)
