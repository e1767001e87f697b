/** Following a thread with the official clients: across runs, a lost server, and back to the beginning. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { Client } from "@langchain/langgraph-sdk"
import { runCommand } from "@superstep/toolkit/exec/run-command"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { startAgentServer } from "./testing/agent-servers.js"
import { startGraphServer } from "./testing/graph-server.js"
import { graphLanguages, testPython, withoutPython } from "./testing/languages.js"

interface Part {
  readonly id?: string
  readonly event: string
  // biome-ignore lint/suspicious/noExplicitAny: what a part holds is what each test asserts
  readonly data: any
}

/** Reads on until it is told to leave; what it has is in `parts`. */
function following(client: Client, threadId: string, options: Parameters<Client["threads"]["joinStream"]>[1]) {
  const leaving = new AbortController()
  const parts: Part[] = []
  const read = async () => {
    for await (const part of client.threads.joinStream(threadId, { ...options, signal: leaving.signal })) {
      parts.push(part as Part)
    }
  }
  const over = read().catch((error: unknown) => {
    if (!leaving.signal.aborted) throw error
  })
  const leave = async () => {
    leaving.abort()
    await over
  }
  const ends = (count: number) =>
    until(() => parts.filter(({ event }) => event === "end").length === count, { what: `${count} runs are over` })
  return { parts, leave, ends }
}

for (const { name: language, env, skip: withoutLanguage } of graphLanguages) {
  test(`the official clients follow a thread whose graphs are in ${language}`, { skip: withoutLanguage }, async (t) => {
    await using one = await startGraphServer(env)
    await using two = await startAgentServer({
      databaseUri: one.db.uri,
      env,
    })
    // What stands before several servers: each request goes to the one that serves.
    let serving: { readonly url: string; readonly headers: Readonly<Record<string, string>> } = one
    const client = new Client({
      apiUrl: "http://agent.test",
      callerOptions: {
        fetch: (address: string, init?: RequestInit) => {
          const headers = new Headers(init?.headers)
          for (const [name, value] of Object.entries(serving.headers)) headers.set(name, value)
          return fetch(address.replace("http://agent.test", serving.url), { ...init, headers })
        },
      },
    })
    const { thread_id } = await client.threads.create()
    // Resumable, so that it is in the log whether or not the server knew already that the thread is followed.
    const run = async (x: number) => {
      const { run_id } = await client.runs.create(thread_id, "error", { input: { x }, streamResumable: true })
      await until(async () => (await client.runs.get(thread_id, run_id)).status === "error", {
        what: "the run is over",
      })
    }

    await t.test("the JavaScript client goes on when the server that it read from is gone", async () => {
      // From the beginning, since nothing says when the server has begun to follow.
      const reader = following(client, thread_id, { lastEventId: "-" })
      await run(1)
      await reader.ends(1)

      serving = two
      one.terminate()
      await one.exited
      await run(2)
      await reader.ends(2)
      await reader.leave()

      assert.deepEqual(
        reader.parts.map(({ event }) => event),
        [1, 2].flatMap(() => ["metadata", "values", "values", "error", "end"]),
      )
      assert.equal(new Set(reader.parts.map(({ id }) => id)).size, reader.parts.length)
    })

    await t.test("the JavaScript client asks for less, from the beginning", async () => {
      const streamMode = ["lifecycle", "state_update"] as const

      const reader = following(client, thread_id, { streamMode: [...streamMode], lastEventId: "-" })
      await reader.ends(2)
      await reader.leave()

      assert.deepEqual(
        reader.parts.map(({ event }) => event),
        [1, 2].flatMap(() => ["metadata", "state_update", "end"]),
      )
      assert.deepEqual(
        reader.parts.filter(({ event }) => event === "state_update").map(({ data }) => data.state),
        [
          { values: { x: 2 }, next: ["boom"], interrupts: [] },
          { values: { x: 3 }, next: ["boom"], interrupts: [] },
        ],
      )
    })

    await t.test("the Python client gets the same", { skip: withoutPython }, async () => {
      const program = [
        "import json, os",
        "from langgraph_sdk import get_sync_client",
        "client = get_sync_client(url=os.environ['URL'], headers=json.loads(os.environ['HEADERS']))",
        "modes = ['lifecycle', 'state_update']",
        "ends = 0",
        "for part in client.threads.join_stream(os.environ['THREAD'], stream_mode=modes, last_event_id='-'):",
        "    print(part.event, part.id, flush=True)",
        "    ends += part.event == 'end'",
        "    if ends == 2: break",
      ].join("\n")

      const { stdout } = await runCommand({
        argv: [testPython, "-c", program],
        cwd: temporaryFolder(),
        env: { PATH: process.env.PATH ?? "", URL: two.url, HEADERS: JSON.stringify(two.headers), THREAD: thread_id },
        timeoutMs: 60_000,
      })

      const lines = stdout.trimEnd().split("\n")
      assert.deepEqual(
        lines.map((line) => line.split(" ")[0]),
        [1, 2].flatMap(() => ["metadata", "state_update", "end"]),
      )
      assert.match(lines[0] ?? "", /^metadata [0-9a-f-]{36}:0$/)
    })
  })
}
