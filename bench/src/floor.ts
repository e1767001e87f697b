/**
 * The floor: the same graphs behind a bare `node:http` server, in one process, with LangGraph's MemorySaver. No queue,
 * no database, no worker, nothing that survives. What anybody's server adds is measured against this.
 * Started as `node floor.js <socket path>`; ends when its standard input does.
 */
import { randomUUID } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { json } from "node:stream/consumers"
import { isBaseMessage } from "@langchain/core/messages"
import { MemorySaver, type StreamMode } from "@langchain/langgraph"

/** What we use of a compiled graph; the benchmark's graphs are plain JavaScript, as a user's may be. */
interface Graph {
  checkpointer: unknown
  stream(input: unknown, options: object): Promise<AsyncIterable<[mode: string, chunk: unknown]>>
  getState(config: object): Promise<{ values: unknown }>
}

interface RunRequest {
  readonly assistant_id: string
  readonly input: unknown
  readonly stream_mode: string
}

const graphNames = ["echo", "tokens"]
const graphs = new Map<string, Graph>()
// A thread's state is read by the graph that wrote it.
const graphOfThread = new Map<string, Graph>()

async function loadGraphs(): Promise<void> {
  for (const name of graphNames) {
    const { graph } = (await import(new URL(`../graphs/${name}.mjs`, import.meta.url).href)) as { graph: Graph }
    graph.checkpointer = new MemorySaver()
    graphs.set(name, graph)
  }
}

async function streamRun(threadId: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { assistant_id, input, stream_mode } = (await json(request)) as RunRequest
  const graph = graphs.get(assistant_id)
  if (!graph) return reply(response, 404, { detail: `no graph ${assistant_id}` })
  graphOfThread.set(threadId, graph)
  const streamMode = [(stream_mode === "messages-tuple" ? "messages" : stream_mode) as StreamMode]
  const run_id = randomUUID()
  response.writeHead(200, { "content-type": "text/event-stream" })
  response.write(sseEvent("metadata", { run_id, attempt: 1 }))
  const stream = await graph.stream(input, { streamMode, configurable: { thread_id: threadId } })
  for await (const [mode, chunk] of stream) response.write(sseEvent(mode, chunk))
  response.end(sseEvent("end", { run_id, status: "success" }))
}

const sseEvent = (name: string, data: unknown): string => `event: ${name}\ndata: ${JSON.stringify(data, wireForm)}\n\n`

/** Messages go over the wire as their fields and a `type`, not in LangChain's constructor form. */
function wireForm(this: Record<string, unknown>, key: string, value: unknown): unknown {
  const message = this[key]
  return isBaseMessage(message) ? { type: message.type, id: message.id, content: message.content } : value
}

function reply(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body, wireForm))
}

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method, url = "/" } = request
  const [, threadId, what] = /^\/threads\/([^/]+)\/(.+)$/.exec(url) ?? []
  if (method === "POST" && url === "/threads") return reply(response, 200, { thread_id: randomUUID() })
  if (method === "POST" && url === "/runs/stream") return streamRun(randomUUID(), request, response)
  if (method === "POST" && threadId && what === "runs/stream") return streamRun(threadId, request, response)
  if (method === "GET" && threadId && what === "state") {
    const graph = graphOfThread.get(threadId)
    const state = await graph?.getState({ configurable: { thread_id: threadId } })
    return reply(response, state ? 200 : 404, state ?? { detail: "no such thread" })
  }
  reply(response, 404, { detail: "Not Found" })
}

await loadGraphs()
createServer((request, response) => {
  handle(request, response).catch((error: unknown) => {
    console.error(error)
    response.destroy()
  })
}).listen(process.argv[2])
process.stdin.resume().once("end", () => process.exit(0))
