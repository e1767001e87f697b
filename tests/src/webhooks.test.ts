/** Webhooks of a server process, as the official client asks for them (docs/webhooks.md). */
import assert from "node:assert/strict"
import { describe, test } from "node:test"
import { until } from "@superstep/toolkit/testing/until"
import { serverForAll } from "./testing/agent-servers.js"
import { ask } from "./testing/ask.js"
import { languages } from "./testing/guarded-languages.js"

const input = { text: "hi" }

for (const { name, skip, envOf } of languages) {
  describe(`a server with an app in ${name}`, { skip }, () => {
    const server = serverForAll({ env: envOf("hooks.json") })

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
