"""A chat model with tools that follows a script instead of asking a provider. It streams words and tool calls in pieces, as
providers do."""

import asyncio
import json
import os
import re
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from script import reply

# Seconds between two pieces, so that the stream can be seen.
PAUSE = int(os.environ.get("APPROVAL_PAUSE_MS", "40")) / 1000


class ScriptedModel(BaseChatModel):
    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> "ScriptedModel":
        """The script knows its tools already."""
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        text, call = reply(messages)
        calls = [] if call is None else [{"id": _call_id(), "name": call[0], "args": call[1]}]
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text, tool_calls=calls))])

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for message in _pieces(messages):
            await asyncio.sleep(PAUSE)
            chunk = ChatGenerationChunk(message=message)
            if run_manager:
                await run_manager.on_llm_new_token(str(message.text), chunk=chunk)
            yield chunk


def _pieces(messages: Sequence[BaseMessage]) -> Iterator[AIMessageChunk]:
    """The words one by one, then the tool call: its name first, its arguments after that."""
    text, call = reply(messages)
    for word in re.findall(r"\S+\s*", text):
        yield AIMessageChunk(word)
    if call is not None:
        name, arguments = call
        yield AIMessageChunk("", tool_call_chunks=[tool_call_chunk(id=_call_id(), name=name, args="", index=0)])
        yield AIMessageChunk("", tool_call_chunks=[tool_call_chunk(args=json.dumps(arguments), index=0)])


def _call_id() -> str:
    return f"call_{uuid.uuid4()}"
