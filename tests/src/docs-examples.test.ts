/** Examples of README.md and docs/mcp-and-a2a.md, as they are written there, against a real server with a key. */
import assert from "node:assert/strict"
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { runCommand } from "@superstep/toolkit/exec/run-command"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { startGraphServer } from "./testing/graph-server.js"

const key = "the key of the examples"

/** The example of a page that is marked with `run`. */
function exampleOf(path: string): string {
  const page = readFileSync(new URL(`../../${path}`, import.meta.url), "utf8")
  const [, text] = /^```ts run\n(.*?)^```$/ms.exec(page) ?? []
  assert.ok(text, path)
  return text
}

test("the examples of README.md and docs/mcp-and-a2a.md", async (t) => {
  const folder = temporaryFolder()
  mkdirSync(folder, { recursive: true })
  const packages = fileURLToPath(import.meta.resolve("@langchain/langgraph-sdk")).replace(/(node_modules)\/.*/, "$1")
  symlinkSync(packages, join(folder, "node_modules"))
  symlinkSync(fileURLToPath(new URL("../graphs/src", import.meta.url)), join(folder, "src"))
  const config = join(folder, "langgraph.json")
  writeFileSync(config, JSON.stringify({ graphs: { chat: "./src/agent.ts:graph" } }))
  await using server = await startGraphServer({
    SUPERSTEP_CONFIG: config,
    SUPERSTEP_UNIT_TOKEN: "",
    SUPERSTEP_API_KEYS: key,
  })
  const run = async (name: string, text: string) => {
    const addressed = text.replace(/http:\/\/127\.0\.0\.1:8901\/d\/[a-z-]+/, server.url)
    writeFileSync(join(folder, name), addressed)
    const env = { PATH: process.env.PATH ?? "", KEY: key }
    return (await runCommand({ argv: [process.execPath, name], cwd: folder, env, timeoutMs: 120_000 })).stdout
  }

  await t.test("README.md: a run is streamed", async () => {
    assert.match(await run("readme.mjs", exampleOf("README.md")), /^messages \[/m)
  })

  await t.test("docs/mcp-and-a2a.md: the assistants are tools", async () => {
    assert.match(await run("mcp.mjs", exampleOf("docs/mcp-and-a2a.md")), /\[ 'chat' \]/)
  })
})
