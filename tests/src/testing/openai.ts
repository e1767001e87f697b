/** A server that speaks OpenAI's protocol: chat completions in pieces, with calls of tools. */
import type { ServerResponse } from "node:http"
import { json } from "node:stream/consumers"
import { portServer } from "@superstep/toolkit/testing/http-server"

interface Message {
  readonly role: "system" | "user" | "assistant" | "tool"
  readonly content: string
}

export interface CompletionRequest {
  readonly model: string
  readonly stream?: boolean
  readonly messages: readonly Message[]
  readonly tools?: readonly { readonly function: { readonly name: string } }[]
}

export interface OpenAi extends AsyncDisposable {
  /** As `OPENAI_BASE_URL`. */
  readonly url: string
  readonly requests: readonly { readonly key: string | undefined; readonly body: CompletionRequest }[]
}

/**
 * Answers a question by calling the first tool, and the tool's result by a sentence of some words.
 * @param options.key  other keys get 401
 * @param options.call  the arguments for the tool
 */
export async function startOpenAi({ key, call }: { key: string; call: object }): Promise<OpenAi> {
  const requests: { key: string | undefined; body: CompletionRequest }[] = []
  const server = await portServer(async (request, response) => {
    if (request.url !== "/v1/chat/completions") return refuse(response, 404, `unknown path ${request.url}`)
    const given = request.headers.authorization?.replace("Bearer ", "")
    if (given !== key) return refuse(response, 401, "Incorrect API key provided")
    const body = (await json(request)) as CompletionRequest
    requests.push({ key: given, body })
    if (!body.stream) return refuse(response, 400, "this server only streams")
    response.writeHead(200, { "content-type": "text/event-stream" })
    for (const choice of choicesFor(body, call)) {
      const head = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: body.model }
      response.write(
        `data: ${JSON.stringify({ ...head, choices: [{ index: 0, finish_reason: null, ...choice }] })}\n\n`,
      )
    }
    response.end("data: [DONE]\n\n")
  })
  return { ...server, url: `${server.origin}/v1`, requests }
}

function choicesFor({ messages, tools = [] }: CompletionRequest, call: object): object[] {
  const last = messages.at(-1)
  if (last?.role === "tool") {
    const words = `The tool says: ${last.content}`.match(/\S+\s*/g) ?? []
    return [
      { delta: { role: "assistant", content: "" } },
      ...words.map((content) => ({ delta: { content } })),
      { delta: {}, finish_reason: "stop" },
    ]
  }
  const name = tools[0]?.function.name
  const text = JSON.stringify(call)
  const parts = [text.slice(0, 5), text.slice(5)]
  const begun = { index: 0, id: "call_1", type: "function", function: { name, arguments: "" } }
  return [
    { delta: { role: "assistant", content: null, tool_calls: [begun] } },
    ...parts.map((part) => ({ delta: { tool_calls: [{ index: 0, function: { arguments: part } }] } })),
    { delta: {}, finish_reason: "tool_calls" },
  ]
}

function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { "content-type": "application/json" })
  response.end(JSON.stringify({ error: { message, type: "invalid_request_error", param: null, code: null } }))
}
