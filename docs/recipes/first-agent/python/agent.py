"""An agent with a model behind an OpenAI-compatible API, and one tool. The settings are in `.env`."""

import os
from datetime import datetime
from zoneinfo import ZoneInfo

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI


def time_in(zone: str) -> str:
    """The present date and time in a time zone, such as Europe/Lisbon."""
    return datetime.now(ZoneInfo(zone)).strftime("%A, %d %B %Y, %H:%M:%S %Z")


graph = create_agent(
    # Reads OPENAI_API_KEY and OPENAI_BASE_URL itself.
    ChatOpenAI(model=os.environ.get("MODEL", "gpt-5-mini")),
    tools=[time_in],
    system_prompt="You are a helpful assistant. Answer in one or two sentences.",
)
