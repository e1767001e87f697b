/** `superstep import` from the public development server of LangGraph (`langgraph dev`, in memory), which knows nothing of us. */
import assert from "node:assert/strict"
import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { cpSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { Client } from "@langchain/langgraph-sdk"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { runCli } from "superstep/testing/run-cli"
import { startGraphServer } from "./testing/graph-server.js"
import { withoutRegistries as skip } from "./testing/official-cli.js"

/** Everything that makes a history hard to repeat: reducers, tasks by `Send`, a node that goes where it wants, a question. */
const graph = `
import { AIMessage } from "@langchain/core/messages"
import { Annotation, Command, interrupt, MessagesAnnotation, Send, StateGraph } from "@langchain/langgraph"
const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  log: Annotation({ reducer: (log, lines) => log.concat(lines), default: () => [] }),
  total: Annotation({ reducer: (total, more) => total + more, default: () => 0 }),
  last: Annotation(),
})
export const graph = new StateGraph(State)
  .addNode("plan", ({ messages }) => ({ messages: [new AIMessage("planned")], log: ["plan"], total: 1, last: { n: messages.length } }))
  .addNode("work", ({ item }) => ({ log: ["work " + item], total: 10 }))
  .addNode("ask", () => {
    const answer = interrupt({ question: "ok?" })
    return { messages: [new AIMessage("you said " + answer)], log: ["ask"], last: answer }
  })
  .addNode("route", ({ last }) => new Command({ update: { log: ["route"] }, goto: last === "again" ? "plan" : "end" }), { ends: ["plan", "end"] })
  .addNode("end", () => ({ log: ["end"], messages: [{ role: "ai", content: "done" }] }))
  .addEdge("__start__", "plan")
  .addConditionalEdges("plan", () => [new Send("work", { item: 1 }), new Send("work", { item: 2 })], ["work"])
  .addEdge("work", "ask")
  .addEdge("ask", "route")
  .addEdge("end", "__end__")
  .compile()
`

async function preparedProject(): Promise<string> {
  const folder = temporaryFolder()
  cpSync(fileURLToPath(new URL("../../bench/peer/package.json", import.meta.url)), join(folder, "package.json"))
  writeFileSync(join(folder, "graph.mjs"), graph)
  writeFileSync(
    join(folder, "langgraph.json"),
    JSON.stringify({ node_version: "20", graphs: { g: "./graph.mjs:graph" } }),
  )
  // npm cannot resolve the peer dependencies of its packages in reasonable time.
  const args = ["install", "--legacy-peer-deps", "--no-fund", "--no-audit", "--loglevel=error"]
  await promisify(execFile)("npm", args, { cwd: folder })
  return folder
}

async function startDevServer(folder: string) {
  const port = await freePort()
  const cli = join(folder, "node_modules/@langchain/langgraph-cli/dist/cli/cli.mjs")
  const options = ["--no-browser", "--no-reload", "--host", "127.0.0.1", "--port", String(port)]
  const { PATH = "" } = process.env
  const child = spawn(process.execPath, [cli, "dev", ...options], {
    cwd: folder,
    env: { PATH, HOME: folder, LANGSMITH_TRACING: "false", BROWSER: "none", NODE_ENV: "test" },
    stdio: "ignore",
    detached: true,
  })
  const exited = once(child, "exit")
  const url = `http://127.0.0.1:${port}`
  const answers = () =>
    fetch(`${url}/ok`).then(
      ({ ok }) => ok,
      () => false,
    )
  await until(answers, { what: "the development server answers", timeoutMs: 120_000 })
  const stop = async () => {
    process.kill(-(child.pid ?? 0), "SIGKILL")
    await exited
  }
  return { url, client: new Client({ apiUrl: url }), [Symbol.asyncDispose]: stop }
}

test("threads of langgraph dev come with their history, and go on", { skip }, async () => {
  const folder = await preparedProject()
  await using old = await startDevServer(folder)
  const settings = { SUPERSTEP_CONFIG: join(folder, "langgraph.json") }
  await using now = await startGraphServer(settings, { hasUnitToken: false })
  const { assistant_id } = await old.client.assistants.create({ graphId: "g", name: "mine", metadata: { team: "x" } })
  await old.client.assistants.update(assistant_id, { name: "mine two" })
  const threads = await Promise.all(
    [0, 1, 2, 3].map(async (n) => {
      const { thread_id } = await old.client.threads.create({ metadata: { n } })
      const input = { messages: [{ role: "user", content: `hi ${n}` }] }
      await old.client.runs.wait(thread_id, n === 0 ? assistant_id : "g", { input })
      if (n > 0) await old.client.runs.wait(thread_id, "g", { command: { resume: n === 1 ? "again" : "yes" } })
      if (n === 2) await old.client.threads.updateState(thread_id, { values: { log: ["by hand"] }, asNode: "end" })
      if (n === 3) await old.client.runs.wait(thread_id, "g", { input })
      return thread_id
    }),
  )
  for (const n of [1, 2]) await old.client.store.putItem(["users", `u${n}`], "likes", { n })

  const imported = await runCli(["import", now.url, "--from", old.url], { cwd: folder })
  const again = await runCli(["import", now.url, "--from", old.url], { cwd: folder })

  assert.equal(imported.code, 0, imported.stdout + imported.stderr)
  assert.match(
    imported.stdout,
    /^assistants: 1 imported\nthreads: 4 imported with \d+ checkpoints\ncrons: 0 imported\nstore items: 2 imported\n$/,
  )
  assert.match(again.stdout, /4 were on the new server already/)
  for (const id of threads) {
    const meaning = async (client: Client) =>
      (await client.threads.getHistory(id, { limit: 100 })).map(({ values, next }) => ({ values, next }))
    assert.deepEqual(await meaning(now.client), await meaning(old.client))
    assert.deepEqual((await now.client.threads.get(id)).metadata, (await old.client.threads.get(id)).metadata)
  }
  const [waiting = ""] = threads
  const logs = [old.client, now.client].map(async (client) => {
    const values = (await client.runs.wait(waiting, "g", { command: { resume: "yes" } })) as { log: string[] }
    return values.log
  })
  assert.deepEqual(await logs[1], await logs[0])
  assert.equal((await now.client.assistants.getVersions(assistant_id)).length, 2)
  assert.deepEqual((await now.client.store.getItem(["users", "u2"], "likes"))?.value, { n: 2 })
})
