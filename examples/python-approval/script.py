"""What the scripted model says and which tool it calls: a plain function of the conversation."""

import json
import re
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage

# The text, and the name and the arguments of a call.
Reply = tuple[str, tuple[str, dict[str, Any]] | None]


def reply(messages: Sequence[BaseMessage]) -> Reply:
    last = messages[-1]
    if isinstance(last, ToolMessage):
        return _after_tool(last, messages)
    found = re.search(r"\b(\d{4})\b", str(last.text))
    if found is None:
        return "Which order is it about? Try 1042 or 1043.", None
    return f"Let me look at order {found[1]}. ", ("look_up_order", {"order_id": found[1]})


def _after_tool(result: ToolMessage, messages: Sequence[BaseMessage]) -> Reply:
    if result.name == "refund_order":
        return f"{result.text} Is there anything else?", None
    order = json.loads(str(result.text))
    if "id" not in order:
        return "I cannot find that order. Try 1042 or 1043.", None
    state = "delivered" if order["delivered"] else "on its way"
    facts = f"Order {order['id']} is {order['item']} for {order['paid']} euros, {state}."
    if not _wants_refund(messages):
        return f'{facts} Say "refund {order["id"]}" to send it back.', None
    arguments = {"order_id": order["id"], "amount": order["paid"]}
    return f"{facts} I ask a colleague about the refund. ", ("refund_order", arguments)


def _wants_refund(messages: Sequence[BaseMessage]) -> bool:
    said = [str(message.text) for message in messages if isinstance(message, HumanMessage)]
    return bool(said) and re.search(r"\b(refund|money back|send .*back)\b", said[-1], re.IGNORECASE) is not None
