"""A model that streams its answer letter by letter, in a graph and in a subgraph."""

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph


async def answer(state: MessagesState) -> dict[str, list[AIMessage]]:
    model = GenericFakeChatModel(messages=iter([AIMessage("Hello there")]))
    return {"messages": [await model.ainvoke(state["messages"])]}


graph = StateGraph(MessagesState).add_node(answer).add_edge(START, "answer").compile()

nested = StateGraph(MessagesState).add_node("sub", graph).add_edge(START, "sub").compile()
