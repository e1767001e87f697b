"""Prints in each way that code does, while another run of it does the same in the same process."""

import json
import sys
import threading
import traceback
from typing import TypedDict

from langgraph.graph import StateGraph


class State(TypedDict):
    said: str


two_runs = threading.Barrier(2)


def show(state: State) -> dict[str, str]:
    said = state["said"]
    print(f"{said} begins")
    sys.stdout.write(f"{said} writes ")
    two_runs.wait()
    sys.stdout.write("in pieces\n")
    print(json.dumps({"message": f"{said} logs", "level": "warn"}))
    try:
        raise TypeError(f"{said} fails")
    except TypeError:
        traceback.print_exc(file=sys.stdout)
    sys.stdout.write(f"{said} ends")
    return {}


def fail() -> None:
    raise ValueError("nobody catches this")


print("the graph is loaded")
thread = threading.Thread(target=fail)
thread.start()
thread.join()

graph = StateGraph(State).add_node("print", show).add_edge("__start__", "print").compile()
