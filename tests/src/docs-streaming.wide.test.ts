/** Every example of docs/streaming.md, as it is written there, against a real server with a key. */

import assert from "node:assert/strict"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { Client } from "@langchain/langgraph-sdk"
import { runCommand } from "@superstep/toolkit/exec/run-command"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { until } from "@superstep/toolkit/testing/until"
import { openChatPage } from "./browser/chat-page.js"
import { chromium, frontEnd, noBrowserFrontEnds } from "./browser/front-ends.js"
import { startGraphServer } from "./testing/graph-server.js"
import { testPython, withoutPython } from "./testing/languages.js"
import { projectWith } from "./testing/projects.js"

const page = readFileSync(new URL("../../docs/streaming.md", import.meta.url), "utf8")
const examples = [...page.matchAll(/^```(\w+) run\n(.*?)^```$/gms)].map(([, language, text]) => ({
  language: language ?? "",
  text: text ?? "",
}))
const key = "the key of the examples"
// What the page says to add for Node 20, which has no global WebSocket.
const [, webSocketImport = ""] = /On Node 20, .* add `(.*)`\.$/m.exec(page) ?? []

test("the examples of docs/streaming.md", async (t) => {
  const config = fileURLToPath(new URL("../graphs/docs.json", import.meta.url))
  await using server = await startGraphServer({
    SUPERSTEP_CONFIG: config,
    SUPERSTEP_UNIT_TOKEN: "",
    SUPERSTEP_API_KEYS: key,
  })
  const { url } = server
  const folder = projectWith({})
  const env = { PATH: process.env.PATH ?? "", SUPERSTEP_API_KEY: key }
  const textsOf = (language: string) =>
    examples.flatMap((it) =>
      it.language === language ? it.text.replaceAll("https://agents.example.com/d/support", url) : [],
    )
  const run = async (...argv: [string, ...string[]]) =>
    (await runCommand({ argv, cwd: folder, env, timeoutMs: 120_000 })).stdout

  await t.test("none is left out", () => {
    assert.deepEqual(fieldsOf(examples, "language"), ["js", "python", "jsx", "js", "js", "sh"])
  })

  await t.test("JavaScript: words, a WebSocket with a key, and a question", async () => {
    const outputs = textsOf("js").map(async (text, index) => {
      const isFromGlobal = text.includes("new WebSocket(") && globalThis.WebSocket === undefined
      writeFileSync(join(folder, `${index}.mjs`), isFromGlobal ? `${webSocketImport}\n${text}` : text)
      return await run(process.execPath, `${index}.mjs`)
    })

    const [words, bySocket, asked] = await Promise.all(outputs)

    assert.match(words ?? "", /^The sum is 3\.\{/)
    assert.match(bySocket ?? "", /The sum is 3\./)
    assert.equal(asked, "asked: { question: 'continue?' }\n")
  })

  await t.test("Python", { skip: withoutPython }, async () => {
    const [text = ""] = textsOf("python")

    assert.match(await run(testPython, "-c", text), /The sum is 3\./)
  })

  await t.test("curl", async () => {
    const [text = ""] = textsOf("sh")
    const client = new Client({ apiUrl: url, apiKey: key })
    const { thread_id } = await client.threads.create()

    const output = await run("sh", "-c", `THREAD_ID=${thread_id}\n${text}`)

    assert.match(output, /^\{"type":"success","id":1,"result":\{"run_id":"/)
    assert.match(output, /The sum is 3\./)
    assert.match(output, /"event":"completed"[^\n]*\n$/)
  })

  await t.test("the key is in no log", () => {
    const log = server.log()
    for (const text of [key, Buffer.from(key).toString("base64url")]) assert.equal(log.includes(text), false)
  })

  await t.test("React", { skip: noBrowserFrontEnds }, async () => {
    const [text = ""] = textsOf("jsx")
    const parameters = { key }
    const options = { script: frontEnd("docs-page.mjs"), modules: { "docs:example": text }, parameters }
    await using chat = await openChatPage(chromium, { url, headers: {} }, options)
    const shows = (words: string) =>
      until(async () => String(await chat.run("document.body.innerText")).includes(words), { what: words })

    await shows("Send")
    await chat.run("document.querySelector('button').click()")

    await shows("The sum is 3.")
  })
})
