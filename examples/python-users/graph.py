"""Keeps notes for each user, in the store. The server knows who asks: the rules of `rules.py` have said so."""

import uuid

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.store.base import BaseStore


async def take_note(state: MessagesState, config: RunnableConfig, *, store: BaseStore) -> dict[str, list[AIMessage]]:
    notes = (config["configurable"]["langgraph_auth_user_id"], "notes")
    said = str(state["messages"][-1].text)
    if said.lower().startswith("remember "):
        text = said[len("remember ") :]
        await store.aput(notes, str(uuid.uuid4()), {"text": text})
        return {"messages": [AIMessage(f"I will remember: {text}")]}
    kept = [item.value["text"] for item in await store.asearch(notes)]
    return {"messages": [AIMessage("\n".join(kept) or 'No notes yet. Say "remember …" to keep one.')]}


graph = StateGraph(MessagesState).add_node(take_note).add_edge(START, "take_note").add_edge("take_note", END).compile()
