/** Examples of README.md, docs/mcp-and-a2a.md and docs/authentication.md, as they are written there, against a real server. */
import assert from "node:assert/strict"
import { readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { Client } from "@langchain/langgraph-sdk"
import { runCommand } from "@superstep/toolkit/exec/run-command"
import { startGraphServer } from "./testing/graph-server.js"
import { projectWith } from "./testing/projects.js"

const key = "the key of the examples"

/** The example of a page that is marked with `run`. */
function exampleOf(path: string): string {
  const page = readFileSync(new URL(`../../${path}`, import.meta.url), "utf8")
  const [[, text] = [], ...more] = [...page.matchAll(/^```ts run\n(.*?)^```$/gms)]
  assert.ok(text, path)
  assert.equal(more.length, 0, path)
  return text
}

/** A project with the graph `chat` and these files, in the folder of a server. */
async function serverOf(files: Readonly<Record<string, string>>, config: object, env: Record<string, string>) {
  const project = { graphs: { chat: "./src/agent.ts:graph" }, ...config }
  const folder = projectWith({ ...files, "langgraph.json": JSON.stringify(project) })
  symlinkSync(fileURLToPath(new URL("../graphs/src", import.meta.url)), join(folder, "src"))
  const server = await startGraphServer({
    SUPERSTEP_CONFIG: join(folder, "langgraph.json"),
    SUPERSTEP_UNIT_TOKEN: "",
    ...env,
  })
  return Object.assign(server, { folder })
}

test("the examples of README.md and docs/mcp-and-a2a.md", async (t) => {
  await using server = await serverOf({}, {}, { SUPERSTEP_API_KEYS: key })
  const { folder } = server
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

test("with the rules of docs/authentication.md each user sees what they created", async () => {
  const files = {
    "auth.ts": exampleOf("docs/authentication.md"),
    "users.ts": "export const userOf = async (token: string | null) => (token ? { id: token } : undefined)\n",
  }
  await using server = await serverOf(files, { auth: { path: "./auth.ts:auth" } }, {})
  const clientOf = (name: string) =>
    new Client({ apiUrl: server.url, apiKey: null, defaultHeaders: { authorization: name } })
  const [ada, bob] = [clientOf("ada"), clientOf("bob")]

  const { thread_id } = await ada.threads.create()
  await ada.store.putItem(["notes"], "one", { text: "mine" })

  assert.equal((await ada.threads.get(thread_id)).metadata?.owner, "ada")
  await assert.rejects(bob.threads.get(thread_id), /404/)
  assert.deepEqual(await bob.threads.search(), [])
  assert.deepEqual((await ada.store.getItem(["notes"], "one"))?.value, { text: "mine" })
  assert.equal(await bob.store.getItem(["notes"], "one"), null)
  assert.equal((await fetch(`${server.url}/threads/${thread_id}`)).status, 401)
})
