import assert from "node:assert/strict"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { runCli } from "../testing/run-cli.js"

test("a graph in Python is named as not loaded, and its missing file or name is a problem", async () => {
  const cwd = temporaryFolder()
  writeFileSync(join(cwd, "agent.py"), "")
  const check = (graphs: Readonly<Record<string, unknown>>, ...args: string[]) => {
    writeFileSync(join(cwd, "langgraph.json"), JSON.stringify({ graphs }))
    return runCli(["check", ...args], { cwd })
  }
  const good = { chat: "./agent.py:graph", other: { path: "my_package.agent:graph" } }
  const bad = { chat: "./agent.py:graph", gone: "./src/gone.py:graph", nameless: "./agent.py" }

  const [fine, failed, json] = [await check(good), await check(bad), await check(bad, "--json")]

  assert.deepEqual([fine.code, fine.stdout], [0, "! not loaded, since they are in Python: chat, other\n"])
  assert.deepEqual([failed.code, failed.stdout], [1, ""])
  assert.match(failed.stderr, /graph "gone" does not load: no such file: \.\/src\/gone\.py\n/)
  assert.match(failed.stderr, /graph "nameless" does not load: "\.\/agent\.py" must be a path and a name/)
  const { graphs, not_loaded } = JSON.parse(json.stdout)
  assert.deepEqual({ graphs, not_loaded }, { graphs: [], not_loaded: ["chat"] })
})
