/** Webhooks of a server process, as the official client asks for them (docs/webhooks.md). */
import assert from "node:assert/strict"
import { createHmac } from "node:crypto"
import { describe, test } from "node:test"
import { until } from "@superstep/toolkit/testing/until"
import { startReceiver } from "@superstep/toolkit/webhooks/testing/receiver"
import { serverForAll } from "./testing/agent-servers.js"
import { ask } from "./testing/ask.js"
import { languages } from "./testing/guarded-languages.js"

const key = Buffer.from("a key of thirty-two bytes, I say")
const input = { text: "hi" }

const secret = { SUPERSTEP_WEBHOOK_SIGNING_SECRET: `whsec_${key.toString("base64")}` }

for (const { name, skip, envOf } of languages) {
  const env = { ...envOf("hooks.json"), ...secret }

  describe(`a server with an app in ${name}`, { skip }, () => {
    const server = serverForAll({ env })

    test("a run tells its end to another server, signed and with the project's headers", async () => {
      await using receiver = await startReceiver()
      const { client } = server

      const waited = await client.runs.wait(null, "echo", { input, webhook: receiver.url })
      const call = await until(() => receiver.calls[0], { what: "the call" })

      assert.deepEqual(call.json.values, waited)
      assert.deepEqual([call.json.status, call.headers["x-key"]], ["success", "k3y"])
      const signed = `${call.headers["webhook-id"]}.${call.headers["webhook-timestamp"]}.${call.body}`
      const expected = createHmac("sha256", key).update(signed).digest("base64")
      assert.equal(call.headers["webhook-signature"], `v1,${expected}`)
    })

    test("a path is a route of the project's own app, and never one of the server's", async () => {
      const { client } = server

      const { run_id } = await client.runs.create(null, "echo", { input, webhook: "/custom/hook" })
      const delivered = await until(
        async () => {
          const { body } = await ask(server, "/custom/delivered")
          return body?.run_id === run_id && body
        },
        { what: "the route has the run" },
      )
      await client.runs.create(null, "echo", { input, webhook: "/threads" })
      await until(() => server.log().includes('"failure":"the answer had the status 404"'), {
        what: "the call of the API is refused",
      })

      assert.equal(delivered.status, "success")
      assert.deepEqual(await client.threads.search(), [])
    })
  })
}
