/** Generative UI: components of a project are bundled, and the official client gets what draws them. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { startServerWithDatabase } from "./testing/agent-servers.js"

const config = fileURLToPath(new URL("../graphs/langgraph.json", import.meta.url))

test("components are bundled at the start and drawn by what the client gets", async (t) => {
  await using server = await startServerWithDatabase({ env: { SUPERSTEP_CONFIG: config } })
  const { client, url, headers } = server
  const fetchFile = (address: string) => fetch(address, { headers })

  await t.test("the client gets HTML that names the files, with the address it asked", async () => {
    const html = await client["~ui"].getComponent("chat", "weather")

    const host = new URL(url).host
    assert.match(html, new RegExp(`<link rel="stylesheet" href="http://${host}/ui/chat/entrypoint.css" />`))
    assert.match(
      html,
      new RegExp(`<script src="http://${host}/ui/chat/entrypoint.js" onload='__LGUI_chat.render\\("weather"`),
    )
  })

  await t.test("the files are there, with their types", async () => {
    const script = await fetchFile(`${url}/ui/chat/entrypoint.js`)
    const style = await fetchFile(`${url}/ui/chat/entrypoint.css`)

    assert.match(script.headers.get("content-type") ?? "", /^text\/javascript/)
    assert.match(await script.text(), /The weather in/)
    assert.match(style.headers.get("content-type") ?? "", /^text\/css/)
    assert.match(await style.text(), /weather-card/)
  })

  await t.test("the edge's address is used for what comes through it", async () => {
    const forwarded = {
      "x-forwarded-host": "agents.example",
      "x-forwarded-proto": "https",
      "x-forwarded-prefix": "/d/chat",
    }
    const body = JSON.stringify({ name: "weather" })
    const reply = await fetch(`${url}/ui/chat`, { method: "POST", headers: { ...headers, ...forwarded }, body })

    assert.match(await reply.text(), /src="https:\/\/agents\.example\/d\/chat\/ui\/chat\/entrypoint\.js"/)
  })

  await t.test("what is not there is 404, and a name that is no name is 422", async () => {
    const missing = await fetchFile(`${url}/ui/chat/..%2F..%2Fpackage.json`)
    const body = JSON.stringify({ name: "weather');alert(1);('" })
    const odd = await fetch(`${url}/ui/chat`, { method: "POST", headers, body })

    assert.equal(missing.status, 404)
    assert.equal(odd.status, 422)
    await assert.rejects(client["~ui"].getComponent("nobody", "weather"), /404/)
  })
})
