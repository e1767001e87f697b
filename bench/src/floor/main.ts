/**
 * The floor: the same graphs behind a bare `node:http` server, in one process, with LangGraph's MemorySaver. It has no
 * queue, no database, no worker and no persistence. The cost of other servers is measured relative to it.
 * Started as `node floor/main.js <socket path>`; exits when its standard input closes.
 */
import { randomUUID } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { json } from "node:stream/consumers"
import { type Graph, loadGraphs, withOwnSaver } from "./graphs.js"
import { execute, optionsOf, type Run, type RunRequest, startedRun, wireForm } from "./runs.js"

const graphs = await loadGraphs(new URL("../../graphs/", import.meta.url))
const runs = new Map<string, Run>()
// The graph that wrote a thread's state, which is needed to read it.
const graphOfThread = new Map<string, Graph>()

interface Call {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** The path parameters of the route. */
  readonly ids: readonly string[]
}

const routes: readonly [method: string, path: RegExp, handle: (call: Call) => unknown][] = [
  ["GET", /^\/ok(\?|$)/, ({ response }) => reply(response, { ok: true })],
  ["POST", /^\/threads$/, ({ response }) => reply(response, { thread_id: randomUUID() })],
  ["POST", /^\/runs\/stream$/, streamRun],
  ["POST", /^\/threads\/([^/]+)\/runs\/stream$/, streamRun],
  ["POST", /^\/runs\/wait$/, waitForRun],
  ["POST", /^\/threads\/([^/]+)\/runs\/wait$/, waitForRun],
  ["POST", /^\/threads\/([^/]+)\/runs$/, createRun],
  ["GET", /^\/threads\/([^/]+)\/runs\/([^/]+)$/, ({ response, ids }) => reply(response, runs.get(ids[1] ?? ""))],
  ["GET", /^\/threads\/([^/]+)\/runs\/([^/]+)\/stream/, joinRun],
  ["GET", /^\/threads\/([^/]+)\/state$/, getState],
  ["POST", /^\/threads\/([^/]+)\/history$/, getHistory],
]

interface Begun {
  readonly run: Run
  readonly graph: Graph
  readonly body: RunRequest
}

async function begin({ request, ids: [threadId] }: Call): Promise<Begun | undefined> {
  const body = (await json(request)) as RunRequest
  const shared = graphs.get(body.assistant_id)
  if (!shared) return undefined
  const graph = (threadId && graphOfThread.get(threadId)) || withOwnSaver(shared)
  if (threadId) graphOfThread.set(threadId, graph)
  return { run: startedRun(threadId ?? randomUUID()), graph, body }
}

async function streamRun(call: Call): Promise<void> {
  const begun = await begin(call)
  if (!begun) return reply(call.response, undefined)
  call.response.writeHead(200, { "content-type": "text/event-stream" })
  begun.run.listeners.add(call.response)
  await execute(begun.run, begun.graph, begun.body)
}

async function waitForRun(call: Call): Promise<void> {
  const begun = await begin(call)
  reply(call.response, begun && (await begun.graph.invoke(begun.body.input, optionsOf(begun.run, begun.body))))
}

async function createRun(call: Call): Promise<void> {
  const begun = await begin(call)
  if (begun) {
    runs.set(begun.run.run_id, begun.run)
    void execute(begun.run, begun.graph, begun.body)
  }
  reply(call.response, begun?.run)
}

function joinRun({ response, ids }: Call): void {
  const run = runs.get(ids[1] ?? "")
  response.writeHead(run ? 200 : 404, { "content-type": "text/event-stream" }).flushHeaders()
  if (run?.status === "running") run.listeners.add(response)
  else response.end()
}

async function getState({ response, ids: [thread_id = ""] }: Call): Promise<void> {
  reply(response, await graphOfThread.get(thread_id)?.getState({ configurable: { thread_id } }))
}

async function getHistory({ request, response, ids: [thread_id = ""] }: Call): Promise<void> {
  const { limit } = (await json(request)) as { limit: number }
  const states: unknown[] = []
  const history = graphOfThread.get(thread_id)?.getStateHistory({ configurable: { thread_id } }, { limit })
  for await (const state of history ?? []) states.push(state)
  reply(response, states)
}

/** Replies with JSON, or with 404 if the body is undefined. */
function reply(response: ServerResponse, body: unknown): void {
  const status = body === undefined ? 404 : 200
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body ?? {}, wireForm))
}

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  for (const [method, path, answer] of routes) {
    const match = method === request.method ? path.exec(request.url ?? "") : null
    if (match) return void (await answer({ request, response, ids: match.slice(1) }))
  }
  reply(response, undefined)
}

// The same as in the agent server. Long, so that clients do not write to a connection that is being closed.
const keepAliveTimeout = 75_000

createServer({ keepAliveTimeout }, (request, response) => {
  handle(request, response).catch((error: unknown) => {
    console.error(error)
    response.destroy()
  })
}).listen(process.argv[2])
process.stdin.resume().once("end", () => process.exit(0))
