/** The bytes of a stream: headers, lines, order, ids (agent-server API §7.1 to §7.3). */
import assert from "node:assert/strict"
import { describe, test } from "node:test"
import { graphServerForAll } from "../testing/graph-server.js"
import { graphLanguages } from "../testing/languages.js"
import { RawStream } from "../testing/raw-stream.js"

for (const { name: language, env, skip } of graphLanguages) {
  describe(`in ${language}`, { skip }, () => {
    const server = graphServerForAll(env)

    const hello = { messages: [{ role: "user", content: "hello" }] }

    test("a run's stream is these bytes and no others", async () => {
      const { thread_id } = await server.client.threads.create()
      const body = { assistant_id: "chat", input: hello, stream_mode: "custom" }

      const stream = await RawStream.open(server, { path: `/threads/${thread_id}/runs/stream`, body })
      const bytes = await stream.ended()

      const runId = stream.headers["content-location"]?.split("/").at(-1)
      assert.equal(
        bytes,
        [
          `event: metadata\ndata: {"run_id":"${runId}","attempt":1}\nid: 0\n\n`,
          `event: custom\ndata: {"progress":"calling model"}\nid: 1\n\n`,
          `event: end\ndata: {"run_id":"${runId}","status":"success"}\nid: 2\n\n`,
        ].join(""),
      )
    })

    test("the reply says that it is a stream, where its run is and where to come back to", async () => {
      const { thread_id } = await server.client.threads.create()
      const body = { assistant_id: "chat", input: hello }

      const threaded = await RawStream.open(server, { path: `/threads/${thread_id}/runs/stream`, body })
      const stateless = await RawStream.open(server, { path: "/runs/stream", body })
      await Promise.all([threaded.ended(), stateless.ended()])

      for (const { status, headers } of [threaded, stateless]) {
        assert.equal(status, 200)
        assert.equal(headers["content-type"], "text/event-stream")
        assert.equal(headers["cache-control"], "no-cache, no-transform")
        assert.equal(headers["transfer-encoding"], "chunked")
      }
      const location = threaded.headers["content-location"] ?? ""
      assert.match(location, new RegExp(`^/threads/${thread_id}/runs/[0-9a-f-]{36}$`))
      assert.equal(threaded.headers.location, `${location}/stream`)
      assert.match(stateless.headers["content-location"] ?? "", /^\/runs\/[0-9a-f-]{36}$/)
      assert.equal(stateless.headers.location, undefined)
    })

    test("no mode and an empty list are the state after each step", async () => {
      const bodies = [{}, { stream_mode: [] }, { stream_mode: null }, { stream_mode: "values" }]

      const streams = await Promise.all(
        bodies.map((body) =>
          RawStream.open(server, { path: "/runs/stream", body: { assistant_id: "error", ...body } }),
        ),
      )
      await Promise.all(streams.map((stream) => stream.ended()))

      for (const { names } of streams) assert.deepEqual(names, ["metadata", "error", "end"])
      const plain = await RawStream.open(server, {
        path: "/runs/stream",
        body: { assistant_id: "hitl", input: { x: 1 } },
      })
      await plain.ended()
      assert.deepEqual(plain.names, ["metadata", "values", "values", "end"])
    })
  })
}
