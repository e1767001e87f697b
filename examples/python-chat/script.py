"""What the scripted model says. It is a plain function of the conversation, so all that it remembers is in there."""

import re
from collections.abc import Sequence

from langchain_core.messages import BaseMessage, HumanMessage


def answer(messages: Sequence[BaseMessage]) -> str:
    spoken = [str(message.text).strip() for message in messages if isinstance(message, HumanMessage)]
    said, before = (spoken[-1], spoken[:-1]) if spoken else ("", [])
    name = _name_in(spoken)
    if introduced := _name_in([said]):
        return f"Nice to meet you, {introduced}! I will remember that, as long as we stay on this thread."
    if re.search(r"\b(who am i|my name)\b", said, re.IGNORECASE):
        return f"You are {name}. You told me so." if name else "You have not told me yet. What shall I call you?"
    if re.search(r"\b(remember|did i (say|ask)|so far)\b", said, re.IGNORECASE):
        return _list_of(before)
    if re.match(r"(hi|hello|hey|good (morning|afternoon|evening))\b", said, re.IGNORECASE) and not before:
        return "Hello! I am a scripted agent: no key, no network, but a real LangGraph underneath. What is your name?"
    if said.endswith("?"):
        return "That is a good question, and a script cannot answer it. Put a real model into chat.py and ask again."
    return f"I am listening{f', {name}' if name else ''}."


def _list_of(before: Sequence[str]) -> str:
    if not before:
        return "This is the first thing you have said on this thread."
    said = "\n".join(f"{index}. {text}" for index, text in enumerate(before, start=1))
    return f"You have said this so far:\n\n{said}\n\nIt comes from the thread's state, not from a model's memory."


def _name_in(spoken: Sequence[str]) -> str | None:
    """How they introduced themselves last, if they did."""
    names = [
        match[1]
        for text in spoken
        if (match := re.search(r"\b(?:[Mm]y name is|[Ii] am|[Ii]'m) ([A-Z]\w+)", text)) is not None
    ]
    return names[-1] if names else None
