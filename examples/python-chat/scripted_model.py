"""A chat model that follows a script instead of asking a provider. To LangChain it is a model like any other: it streams its
answer in pieces, and it stops when the run is cancelled."""

import asyncio
import os
import re
from collections.abc import AsyncIterator
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from script import answer

# Seconds between two words, so that the stream can be seen.
PAUSE = int(os.environ.get("CHAT_PAUSE_MS", "40")) / 1000


class ScriptedModel(BaseChatModel):
    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        """For callers that want the answer in one piece."""
        return ChatResult(generations=[ChatGeneration(message=AIMessage(answer(messages)))])

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        """For callers that listen: one word at a time, with the space that follows it."""
        for word in re.findall(r"\S+\s*", answer(messages)):
            await asyncio.sleep(PAUSE)
            chunk = ChatGenerationChunk(message=AIMessageChunk(word))
            if run_manager:
                await run_manager.on_llm_new_token(word, chunk=chunk)
            yield chunk
