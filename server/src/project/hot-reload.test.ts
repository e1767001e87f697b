import assert from "node:assert/strict"
import { rename, rm } from "node:fs/promises"
import { join } from "node:path"
import { test } from "node:test"
import { createLog } from "@superstep/toolkit/log/log"
import { until } from "@superstep/toolkit/testing/until"
import type { WorkerProject } from "../workers/child.js"
import { startHotReload } from "./hot-reload.js"
import { readProject } from "./langgraph-config.js"
import { watchSources } from "./source-watch.js"
import { folderWith } from "./testing/folder.js"

const told: string[] = []
const log = createLog({ process: "test", level: "warn" }, { write: (line) => told.push(JSON.parse(line).msg) })
const chat = { chat: "./src/chat.ts:graph" }

test("V1, V2: changes of sources are seen, also renamed ones and those in new folders; other changes are not", async () => {
  await using folder = await folderWith({ "src/a.ts": "1", "node_modules/x/index.js": "1", ".git/HEAD": "1" })
  const changes: string[] = []
  const watch = await watchSources(folder.path, (path) => changes.push(path), { log, quietMs: 20 })
  const change = async (name: string, act: () => Promise<unknown>) => {
    await act()
    await until(() => changes.includes(name), { what: `${name} is seen` })
  }

  await folder.write("node_modules/x/index.js", "2")
  await folder.write(".git/index.ts", "2")
  await folder.write("src/data.sqlite", "2")
  await change(join("src", "a.ts"), () => folder.write("src/a.ts", "2"))
  // A write is a truncation and then a write, which are seen apart now and then.
  const first = [...new Set(changes)]
  changes.length = 0
  await folder.write("src/a.ts.tmp", "3")
  await change(join("src", "a.ts"), () => rename(join(folder.path, "src/a.ts.tmp"), join(folder.path, "src/a.ts")))
  changes.length = 0
  await change(join("src", "a.ts"), () => folder.write("src/a.ts", "4"))
  await change(join("src", "deep", "er", "b.ts"), () => folder.write("src/deep/er/b.ts", "1"))
  changes.length = 0
  await change(join("src", "deep", "er", "b.ts"), () => folder.write("src/deep/er/b.ts", "2"))
  await rm(join(folder.path, "src/deep"), { recursive: true })
  await folder.write("src/deep/c.ts", "1")
  changes.length = 0
  await change(join("src", "deep", "c.ts"), () => folder.write("src/deep/c.ts", "2"))
  await change(".env", () => folder.write(".env", "A=1"))
  watch.close()

  assert.deepEqual(first, [join("src", "a.ts")])
})

test("a change reloads the project, and an invalid langgraph.json changes nothing", async () => {
  await using folder = await folderWith({ "langgraph.json": JSON.stringify({ graphs: chat }) })
  const configPath = join(folder.path, "langgraph.json")
  const loaded: { graphs: object; env: object }[] = []
  const reloaded: string[][] = []
  const replaceWorkers = async ({ graphs, env }: WorkerProject) => {
    loaded.push({ graphs, env })
    return { graphs: Object.keys(graphs), failed: [] }
  }
  const project = await readProject(configPath, {})
  const watch = await startHotReload({
    project,
    workers: { replaceWorkers },
    agentEnv: { OVER: "agent" },
    serverEnv: {},
    log,
    onReload: ({ graphs }) => void reloaded.push(Object.keys(graphs)),
  })

  await folder.write("langgraph.json", "{ broken")
  const http = { disable_store: true }
  await folder.write("langgraph.json", JSON.stringify({ graphs: { ...chat, more: "./b.ts:b" }, http }))
  await until(() => reloaded.length > 0, { what: "the project is reloaded" })
  watch.close()

  assert.deepEqual(loaded.at(-1), { graphs: { ...chat, more: "./b.ts:b" }, env: { OVER: "agent" } })
  assert.deepEqual(reloaded.at(-1), ["chat", "more"])
  assert.equal(reloaded.length, loaded.length)
  assert.ok(told.includes("http of langgraph.json has changed: restart the server to apply it"))
})
