"""A scripted model: every mode of streaming has something to show, without a key or a network."""

from typing import Any

from langchain_core.callbacks.manager import adispatch_custom_event
from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, MessagesState, StateGraph
from version import version

model = FakeListChatModel(responses=[f"hello from {version}"])


async def answer(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
    get_stream_writer()({"version": version})
    await adispatch_custom_event("thinking", {"version": version}, config=config)
    # Not streamed here: its tokens are messages all the same.
    message = await model.with_config(tags=["answer"]).ainvoke(state["messages"], config)
    return {"messages": [message]}


graph = StateGraph(MessagesState).add_node(answer).add_edge(START, "answer").add_edge("answer", END).compile()
