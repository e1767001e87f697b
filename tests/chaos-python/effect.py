"""What a node does to the world: a line in a file, appended whole, which no kill takes back."""

import json
import os

from langchain_core.runnables import RunnableConfig


def tell(config: RunnableConfig, node: str) -> None:
    """Tells that a node executes, before it does anything else.

    `config` names the run, its attempt, the super-step, and the checkpoint from which LangGraph started that.
    """
    metadata, configurable = config["metadata"], config["configurable"]
    line = {
        "run_id": metadata["run_id"],
        "node": node,
        "attempt": metadata["run_attempt"],
        "step": metadata["langgraph_step"],
        "pid": os.getpid(),
        "from": configurable.get("checkpoint_map", {}).get(""),
        "ns": configurable["checkpoint_ns"],
    }
    file = os.open(os.environ["CHAOS_EFFECTS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(file, f"{json.dumps(line)}\n".encode())
    finally:
        os.close(file)
