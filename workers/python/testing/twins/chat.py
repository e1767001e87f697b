from langchain_core.language_models import FakeListChatModel
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph
from langchain_core.messages import BaseMessage

model = FakeListChatModel(responses=["Hi!"])


async def call_model(state: MessagesState) -> dict[str, list[BaseMessage]]:
    get_stream_writer()({"progress": "calling model"})
    return {"messages": [await model.ainvoke(state["messages"])]}


graph = StateGraph(MessagesState).add_node("model", call_model).add_edge(START, "model").compile()
