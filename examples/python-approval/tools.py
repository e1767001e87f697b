"""What the agent can do."""

import json
from typing import TypedDict

from langchain_core.tools import tool


class Order(TypedDict):
    id: str
    item: str
    # In whole euros.
    paid: int
    delivered: bool


ORDERS: list[Order] = [
    {"id": "1042", "item": "a kettle", "paid": 49, "delivered": True},
    {"id": "1043", "item": "a lamp", "paid": 120, "delivered": False},
]


def find_order(order_id: str) -> Order | None:
    return next((order for order in ORDERS if order["id"] == order_id), None)


@tool
def look_up_order(order_id: str) -> str:
    """What was ordered, what was paid and whether it has arrived."""
    return json.dumps(find_order(order_id) or {"error": "no such order"})


@tool
def refund_order(order_id: str, amount: int) -> str:
    """Pays an order back. A person has to approve it: only the last step of the refund subgraph calls this."""
    return f"{amount} euros went back for order {order_id}."
