"""Asks for a tool first and answers when it has a result."""

from collections.abc import Iterator
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage, ToolMessage, message_chunk_to_message
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

asks_for_tool = [
    {"tool_call_chunks": [{"type": "tool_call_chunk", "index": 0, "id": "call_1", "name": "add", "args": ""}]},
    {"tool_call_chunks": [{"type": "tool_call_chunk", "index": 0, "id": None, "name": None, "args": '{"a":1,'}]},
    {"tool_call_chunks": [{"type": "tool_call_chunk", "index": 0, "id": None, "name": None, "args": '"b":2}'}]},
    {
        "usage_metadata": {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7},
        "response_metadata": {"finish_reason": "tool_calls", "model_name": "scripted-1"},
    },
]

answers = [
    {"content": "The "},
    {"content": "sum is 3."},
    {
        "usage_metadata": {"input_tokens": 9, "output_tokens": 3, "total_tokens": 12},
        "response_metadata": {"finish_reason": "stop", "model_name": "scripted-1"},
    },
]


class ScriptedModel(BaseChatModel):
    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        first, *rest = [each.message for each in self._stream(messages)]
        for each in rest:
            first = first + each
        return ChatResult(generations=[ChatGeneration(message=message_chunk_to_message(first))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: Any = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> Iterator[ChatGenerationChunk]:
        script = answers if isinstance(messages[-1] if messages else None, ToolMessage) else asks_for_tool
        for piece in script:
            chunk = ChatGenerationChunk(message=AIMessageChunk(**{"content": "", **piece}))
            if run_manager is not None:
                run_manager.on_llm_new_token(str(chunk.message.content), chunk=chunk)
            yield chunk


@tool
def add(a: int, b: int) -> str:
    """Adds two numbers."""
    return str(a + b)


model = ScriptedModel()


async def agent(state: MessagesState) -> dict[str, list[BaseMessage]]:
    return {"messages": [await model.ainvoke(state["messages"])]}


graph = (
    StateGraph(MessagesState)
    .add_node(agent)
    .add_node("tools", ToolNode([add]))
    .add_edge(START, "agent")
    .add_conditional_edges(
        "agent", lambda state: "tools" if state["messages"][-1].tool_calls else END, ["tools", END]
    )
    .add_edge("tools", "agent")
    .compile()
)
