/**
 * Requests that a property-based fuzzer makes up from the server's own OpenAPI document (schemathesis): no answer is a
 * 5xx, and every request is answered.
 */
import assert from "node:assert/strict"
import { writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { CommandFailed, runCommand } from "@superstep/toolkit/exec/run-command"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { type AgentServerProcess, startServerWithDatabase } from "../testing/agent-servers.js"
import { withRealIds } from "./real-ids.js"

const config = fileURLToPath(new URL("../../graphs/langgraph.json", import.meta.url))
const python = process.env.SUPERSTEP_TEST_PYTHON ?? ""
const skip = python === "" && "no Python with schemathesis: .ci/run installs it and sets SUPERSTEP_TEST_PYTHON"

// A stream over all runs of a thread has no end, which to a fuzzer is a request without an answer.
const endless = "^/threads/\\{thread_id\\}/stream$"

test("no made-up request gets a 5xx or no answer", { skip }, async () => {
  await using server = await startServerWithDatabase({ env: { SUPERSTEP_CONFIG: config } })
  const folder = temporaryFolder()
  const file = join(folder, "openapi.json")
  await writeFile(file, JSON.stringify(await offeredDocument(server)))

  const report = await fuzz({ server, file, folder })

  assert.equal(report, "")
  assert.equal((await fetch(`${server.url}/ok?check_db=1`, { headers: server.headers })).status, 200)
  assert.doesNotMatch(server.log(), /"msg":"internal error"/)
})

/** The server's document, with ids of threads, runs, assistants and graphs that are there. */
async function offeredDocument({ client, url, headers }: AgentServerProcess) {
  const threads = await Promise.all(Array.from({ length: 20 }, () => client.threads.create()))
  const threadIds = threads.map(({ thread_id }) => thread_id)
  const input = { messages: [{ role: "user", content: "hi" }] }
  const runs = await Promise.all(threadIds.map((threadId) => client.runs.create(threadId, "chat", { input })))
  const assistant = await client.assistants.create({ graphId: "chat" })
  const cron = await client.crons.create("chat", { schedule: "0 0 1 1 *" })
  const document = await (await fetch(`${url}/openapi.json`, { headers })).json()
  return withRealIds(document, {
    thread_id: threadIds,
    run_id: runs.map(({ run_id }) => run_id),
    assistant_id: ["chat", "hitl", "nested", assistant.assistant_id],
    graph_id: ["chat", "hitl"],
    cron_id: [cron.cron_id],
  })
}

/** @returns what schemathesis found; empty when nothing */
async function fuzz({ server, file, folder }: { server: AgentServerProcess; file: string; folder: string }) {
  const headers = Object.entries(server.headers).flatMap(([name, value]) => ["--header", `${name}:${value}`])
  const argv = [
    join(dirname(python), "st"),
    ...["run", file, "--url", server.url, ...headers],
    ...["--checks", "not_a_server_error", "--phases", "examples,fuzzing", "--exclude-path-regex", endless],
    ...["--max-examples", "12", "--seed", "1", "--workers", "2", "--request-timeout", "60", "--no-shrink"],
    ...["--suppress-health-check", "all", "--warnings", "off", "--continue-on-failure"],
  ] as [string, ...string[]]
  const env = { PYTHONIOENCODING: "utf-8", COLUMNS: "200" }
  const printed: Buffer[] = []
  const onOutput = (chunk: Buffer) => void printed.push(chunk)
  try {
    await runCommand({ argv, cwd: folder, env, timeoutMs: 900_000, onOutput })
    return ""
  } catch (error) {
    if (error instanceof CommandFailed) return `${error.message}\n${Buffer.concat(printed)}`
    throw error
  }
}
