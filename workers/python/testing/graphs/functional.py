"""A functional graph: a model in a task of a task, and a tool in a called graph. There is an equal graph in JavaScript."""

from typing import TypedDict

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph


class Word(TypedDict):
    word: str


@task
async def say(word: str) -> str:
    model = GenericFakeChatModel(messages=iter([AIMessage("ok")]))
    return str((await model.ainvoke(word)).content)


@task
async def relay(word: str) -> str:
    return await say(word)


@tool
async def shout(word: str) -> str:
    """Shouts."""
    return f"{word}!"


async def look(state: Word) -> Word:
    return {"word": await shout.ainvoke({"word": state["word"]})}


inner = StateGraph(Word).add_node(look).add_edge(START, "look").compile()


@entrypoint()
async def functional(given: Word) -> dict[str, str]:
    said = await relay(given["word"])
    return {"said": said, "shouted": (await inner.ainvoke(given))["word"]}
