"""A deep agent with a scripted model: its `messages` and `files` are delta channels, as in every deep agent."""

from collections.abc import Sequence
from typing import Any

from deepagents import create_deep_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult


class ScriptedModel(BaseChatModel):
    """Writes what it is told to the file `/notes.txt`, reads it, and else counts the questions that it sees."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> "ScriptedModel":
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=_answer(messages))])


def _answer(messages: list[BaseMessage]) -> AIMessage:
    last = messages[-1]
    if last.type == "tool":
        return AIMessage(f"done: {last.content}")
    word, _, rest = str(last.content).partition(" ")
    if word == "write":
        return _call("write_file", {"file_path": "/notes.txt", "content": rest}, messages)
    if word == "read":
        return _call("read_file", {"file_path": "/notes.txt"}, messages)
    return AIMessage(f"question {sum(message.type == 'human' for message in messages)}")


def _call(name: str, args: dict[str, Any], messages: list[BaseMessage]) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": f"call-{len(messages)}"}])


graph = create_deep_agent(model=ScriptedModel())
