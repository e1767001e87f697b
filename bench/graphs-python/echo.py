"""A minimal graph: one node that repeats its input. The measurement covers everything around the graph."""

from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph


async def echo(state: MessagesState) -> dict[str, list[AIMessage]]:
    return {"messages": [AIMessage(f"echo: {state['messages'][-1].content}")]}


graph = StateGraph(MessagesState).add_node(echo).add_edge(START, "echo").add_edge("echo", END).compile()
