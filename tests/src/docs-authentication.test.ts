/** The example of docs/authentication.md, as it is written there, on a real server. */
import assert from "node:assert/strict"
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { Client } from "@langchain/langgraph-sdk"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { startGraphServer } from "./testing/graph-server.js"

const page = readFileSync(new URL("../../docs/authentication.md", import.meta.url), "utf8")
const examples = [...page.matchAll(/^```ts run\n(.*?)^```$/gms)].map(([, text = ""]) => text)
const users = "export const userOf = async (token: string | null) => (token ? { id: token } : undefined)\n"

test("with the rules of docs/authentication.md each user sees what they created", async () => {
  const [rules = ""] = examples
  assert.equal(examples.length, 1)
  const folder = temporaryFolder()
  mkdirSync(folder, { recursive: true })
  const sources = fileURLToPath(new URL("../graphs/src", import.meta.url))
  const packages = fileURLToPath(import.meta.resolve("@langchain/langgraph-sdk")).replace(/(node_modules)\/.*/, "$1")
  symlinkSync(sources, join(folder, "src"))
  symlinkSync(packages, join(folder, "node_modules"))
  writeFileSync(join(folder, "auth.ts"), rules)
  writeFileSync(join(folder, "users.ts"), users)
  const config = { graphs: { agent: "./src/agent.ts:graph" }, auth: { path: "./auth.ts:auth" } }
  writeFileSync(join(folder, "langgraph.json"), JSON.stringify(config))
  await using server = await startGraphServer({
    SUPERSTEP_CONFIG: join(folder, "langgraph.json"),
    SUPERSTEP_UNIT_TOKEN: "",
  })
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
  const anonymous = await fetch(`${server.url}/threads/${thread_id}`)
  assert.equal(anonymous.status, 401)
})
