"""Agents as people write them: a handoff between two agents, and a functional agent that goes on from its last result."""

from collections.abc import Sequence
from typing import Annotated, Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.func import entrypoint, task
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

ToolCall = tuple[str, dict[str, Any]]


class ScriptedModel(BaseChatModel):
    """Calls its tools once, and then repeats what they returned."""

    calls: list[Any]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> "ScriptedModel":
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        results = [str(each.content) for each in messages if each.type == "tool"]
        calls = [{"name": name, "args": arguments, "id": f"call-{n}"} for n, (name, arguments) in enumerate(self.calls)]
        answer = AIMessage(", ".join(results)) if results or not calls else AIMessage("", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=answer)])


@tool
def to_bob(tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Hands the conversation to Bob."""
    done = ToolMessage("with Bob", tool_call_id=tool_call_id)
    return Command(goto="bob", graph=Command.PARENT, update={"messages": [done]})


ada = create_agent(ScriptedModel(calls=[("to_bob", {})]), [to_bob], name="ada")
bob = create_agent(ScriptedModel(calls=[]), [], name="bob")

team = (
    StateGraph(MessagesState)
    .add_node("ada", ada, destinations=("bob",))
    .add_node("bob", bob)
    .add_edge(START, "ada")
    .compile()
)

written: list[str] = []


@task
async def write(topic: str) -> str:
    written.append(topic)
    return f"on {topic}, try {written.count(topic)}"


@entrypoint()
async def essay(topic: str, *, previous: Any = None) -> Any:
    text = await write(topic)
    review = interrupt({"text": text})
    return entrypoint.final(value={"text": text, "review": review, "before": previous}, save=text)
