/** Messages of all LangChain's classes, by what is special about them. */
import {
  AIMessage,
  AIMessageChunk,
  type BaseMessage,
  ChatMessage,
  FunctionMessage,
  HumanMessage,
  RemoveMessage,
  SystemMessage,
  ToolMessage,
  ToolMessageChunk,
} from "@langchain/core/messages"

const called = { name: "search", args: { query: "x", deep: [1, { two: null }] }, id: "c1", type: "tool_call" as const }

export const messages: Readonly<Record<string, BaseMessage>> = {
  human: new HumanMessage("hello"),
  "human with parts": new HumanMessage({ content: [{ type: "text", text: "hi" }], id: "m1", name: "Ada" }),
  system: new SystemMessage({ content: "be kind", additional_kwargs: { some_key: { Nested: 1 } } }),
  ai: new AIMessage({
    content: "x",
    tool_calls: [called],
    usage_metadata: { input_tokens: 1, output_tokens: 2, total_tokens: 3 } as never,
  }),
  "ai without a name": new AIMessage({
    content: "x",
    name: undefined as never,
    response_metadata: { model_name: "m" },
  }),
  chunk: new AIMessageChunk({
    content: "x",
    tool_call_chunks: [{ name: "search", args: '{"query":', id: "c1", index: 0, type: "tool_call_chunk" }],
  }),
  "text chunk": new AIMessageChunk("t1 "),
  tool: new ToolMessage({ content: "found", tool_call_id: "c1", artifact: { deep: [1, 2] }, status: "error" }),
  "tool chunk": new ToolMessageChunk({ content: "fo", tool_call_id: "c1" }),
  chat: new ChatMessage("hi", "critic"),
  function: new FunctionMessage({ content: "42", name: "answer" }),
  remove: new RemoveMessage({ id: "m1" }),
}
