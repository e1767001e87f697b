"""A support agent. It looks orders up on its own; a refund costs money, so that goes through a subgraph which asks a person
first.

    agent --> tools --+          refund:  check --> ask --> pay
      ^  +--> refund -+                     +--------+--> report
      +---------------+
"""

from typing import Literal

from langchain_core.messages import AIMessage, BaseMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from refund import refund
from scripted_model import ScriptedModel
from tools import look_up_order, refund_order

# A real model goes here; it has to know both tools.
model = ScriptedModel().bind_tools([look_up_order, refund_order])


async def agent(state: MessagesState) -> dict[str, list[BaseMessage]]:
    return {"messages": [await model.ainvoke(state["messages"])]}


def where_to(state: MessagesState) -> Literal["tools", "refund", "__end__"]:
    last = state["messages"][-1]
    if not isinstance(last, AIMessage) or not last.tool_calls:
        return END
    return "refund" if last.tool_calls[0]["name"] == refund_order.name else "tools"


graph = (
    StateGraph(MessagesState)
    .add_node(agent)
    .add_node("tools", ToolNode([look_up_order]))
    .add_node("refund", refund)
    .add_edge(START, "agent")
    .add_conditional_edges("agent", where_to)
    .add_edge("tools", "agent")
    .add_edge("refund", "agent")
    .compile()
)
