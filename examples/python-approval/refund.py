"""The dangerous part, as a graph of its own: check the rules, ask a person, pay.

`interrupt` stops the run here, whatever the process or the machine does meanwhile. The answer comes with the next run of the
thread, as `command.resume`, and is what `interrupt` returns then."""

from typing import Any

from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt
from tools import find_order, refund_order


class State(MessagesState):
    # What is to be paid, once a person has agreed.
    amount: int
    # Why nothing is paid, when that is so.
    refusal: str | None


def check(state: State) -> dict[str, Any]:
    """Rules that need no person."""
    arguments = refund_call(state)["args"]
    order = find_order(arguments["order_id"])
    if order is None:
        return {"refusal": f"There is no order {arguments['order_id']}."}
    if arguments["amount"] > order["paid"]:
        return {"refusal": f"Only {order['paid']} euros were paid for order {order['id']}."}
    return {"refusal": None, "amount": arguments["amount"]}


def ask(state: State) -> dict[str, Any]:
    """The run stops in here until somebody answers: yes or no, or yes to another amount."""
    order_id, amount = refund_call(state)["args"]["order_id"], state["amount"]
    answer = interrupt({"question": f"Refund {amount} euros?", "order_id": order_id, "amount": amount})
    agreed = answer if isinstance(answer, dict) else {"approved": answer}
    if not agreed.get("approved"):
        return {"refusal": "A person declined the refund."}
    return {"amount": agreed.get("amount", amount)}


async def pay(state: State) -> dict[str, Any]:
    """A step of its own: after a crash the person is not asked again."""
    call = refund_call(state)
    arguments = {**call["args"], "amount": state["amount"]}
    return {"messages": [await refund_order.ainvoke({**call, "type": "tool_call", "args": arguments})]}


def report(state: State) -> dict[str, Any]:
    call = refund_call(state)
    return {"messages": [ToolMessage(state["refusal"] or "", tool_call_id=call["id"], name=call["name"], status="error")]}


def refund_call(state: State) -> ToolCall:
    last = state["messages"][-1]
    calls = last.tool_calls if isinstance(last, AIMessage) else []
    for call in calls:
        if call["name"] == refund_order.name:
            return call
    raise RuntimeError("the refund graph was entered without a call of refund_order")


refund = (
    StateGraph(State)
    .add_node(check)
    .add_node(ask)
    .add_node(pay)
    .add_node(report)
    .add_edge(START, "check")
    .add_conditional_edges("check", lambda state: "report" if state["refusal"] else "ask", ["ask", "report"])
    .add_conditional_edges("ask", lambda state: "report" if state["refusal"] else "pay", ["pay", "report"])
    .add_edge("pay", END)
    .add_edge("report", END)
    .compile()
)
