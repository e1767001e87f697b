/** Who is the studio user of a project with access rules: the console, by the edge's word, and nobody by a header. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { consoleHeader, unitHeader } from "@superstep/protocol/http/own-headers"
import { freshHttp, guardedProject, type TestHttpOptions } from "../testing/test-http.js"

const withRules = { ...guardedProject, auth: "./src/auth.ts:auth" }
const edge = { [unitHeader]: "sesame" }
const [consoleSays, studioSays] = [{ [consoleHeader]: "1" }, { "x-auth-scheme": "langsmith" }]

async function statusesOf(options: TestHttpOptions, asked: readonly Record<string, string>[]): Promise<number[]> {
  await using http = await freshHttp(options)
  const search = (headers: Record<string, string>) => http.send("POST", "/threads/search", {}, headers)
  return (await Promise.all(asked.map(search))).map(({ status }) => status)
}

test("behind the edge the console is the studio user by the edge's word alone", async () => {
  for (const app of [undefined, "./src/app.ts:app"]) {
    const options = { unitToken: "sesame", gate: { ...withRules, app } }
    const attacks = [edge, { ...edge, ...studioSays }, { ...edge, [consoleHeader]: "true" }]
    const outsiders = [consoleSays, { ...consoleSays, [unitHeader]: "wrong" }, { ...consoleSays, ...studioSays }]

    const statuses = await statusesOf(options, [{ ...edge, ...consoleSays }, ...attacks, ...outsiders])

    assert.deepEqual(statuses, [200, 401, 401, 401, 401, 401, 401], `app: ${app}`)
  }
})

test("the project can refuse the console: disable_studio_auth", async () => {
  const gate = { ...withRules, disableStudioAuth: true }

  assert.deepEqual(await statusesOf({ unitToken: "sesame", gate }, [{ ...edge, ...consoleSays }]), [401])
})

test("a server without an edge takes nobody's word for it", async () => {
  assert.deepEqual(await statusesOf({ gate: withRules }, [consoleSays, studioSays]), [401, 401])
  assert.deepEqual(await statusesOf({ gate: withRules, isDev: true }, [consoleSays, studioSays]), [401, 200])
})
