"""A model that streams the requested number of tokens, as fast as possible."""

from collections.abc import AsyncIterator
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langgraph.graph import END, START, MessagesState, StateGraph


def asked_for(messages: list[BaseMessage]) -> list[str]:
    """The last message's text is the number of tokens. Token i is `ti `."""
    return [f"t{index} " for index in range(int(str(messages[-1].content)))]


class ScriptedModel(BaseChatModel):
    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage("".join(asked_for(messages))))])

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        texts = asked_for(messages)
        for index, text in enumerate(texts):
            # Otherwise LangChain adds an empty chunk that says so.
            is_last = index == len(texts) - 1
            chunk = ChatGenerationChunk(message=AIMessageChunk(text, chunk_position="last" if is_last else None))
            if run_manager is not None:
                await run_manager.on_llm_new_token(text, chunk=chunk)
            yield chunk


model = ScriptedModel()


async def speak(state: MessagesState) -> dict[str, list[BaseMessage]]:
    return {"messages": [await model.ainvoke(state["messages"])]}


graph = StateGraph(MessagesState).add_node(speak).add_edge(START, "speak").add_edge("speak", END).compile()
