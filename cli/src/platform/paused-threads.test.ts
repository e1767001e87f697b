import assert from "node:assert/strict"
import { test } from "node:test"
import { listen } from "@superstep/toolkit/http/listen"
import { orphansAmong, readPausedThreads } from "./paused-threads.js"

const thread = (threadId: string, graphId: string, ...next: string[]) => ({ threadId, graphId, next })

test("a thread could not go on when its graph is gone, or all nodes in which it waits", () => {
  const threads = [
    thread("a", "chat", "ask"),
    thread("b", "chat", "ask", "other"),
    thread("c", "chat", "gone"),
    thread("d", "removed", "ask"),
    thread("e", "unknown", "gone"),
  ]

  const orphans = orphansAmong(threads, { graphs: ["chat", "unknown"], nodes: { chat: ["__start__", "ask"] } })

  assert.deepEqual(orphans, [
    { thread_id: "c", reason: "graph chat has no node gone" },
    { thread_id: "d", reason: "there is no graph removed" },
  ])
})

test("paused threads are read from the agent; deleted ones and those of earlier revisions are left out", async () => {
  const states: Record<string, object | undefined> = { a: { next: ["ask"] }, b: { next: [] }, c: undefined }
  const asked: string[] = []
  const agent = await listen(
    async (request) => {
      const { pathname } = new URL(request.url)
      asked.push(`${request.method} ${pathname} ${request.headers.get("x-api-key")}`)
      if (request.method === "POST") {
        return Response.json(Object.keys(states).map((thread_id) => ({ thread_id, metadata: { graph_id: "chat" } })))
      }
      const state = states[pathname.split("/")[4] ?? ""]
      return state ? Response.json(state) : Response.json({ detail: "Thread not found" }, { status: 404 })
    },
    { host: "127.0.0.1", port: 0 },
  )

  const paused = await readPausedThreads(`http://127.0.0.1:${agent.port}/d/chat`, "key-1")
  await agent.close(0)
  const refused = readPausedThreads(`http://127.0.0.1:${agent.port}/d/chat`, "key-1")

  assert.deepEqual(paused, { threads: [thread("a", "chat", "ask")], isComplete: true })
  assert.equal(asked[0], "POST /d/chat/threads/search key-1")
  assert.deepEqual(
    asked.slice(1).toSorted(),
    ["a", "b", "c"].map((id) => `GET /d/chat/threads/${id}/state key-1`),
  )
  await assert.rejects(refused, /the agent at .* cannot be reached: /)
})
