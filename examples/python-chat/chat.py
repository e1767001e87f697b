"""The whole agent: one node that asks a model. The messages of a thread are kept by the server, so the next run on the same
thread sees the conversation so far."""

from langchain_core.messages import BaseMessage
from langgraph.graph import START, MessagesState, StateGraph
from scripted_model import ScriptedModel

# To talk to a real model, add its package to requirements.txt and put it here:
#   from langchain_openai import ChatOpenAI
#   model = ChatOpenAI(model="gpt-5-mini")
model = ScriptedModel()


async def talk(state: MessagesState) -> dict[str, list[BaseMessage]]:
    return {"messages": [await model.ainvoke(state["messages"])]}


graph = StateGraph(MessagesState).add_node(talk).add_edge(START, "talk").compile()
