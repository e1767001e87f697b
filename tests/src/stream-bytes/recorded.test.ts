/** Every recorded stream of the reference server, asked for over HTTP and read as bytes. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { byGroup, inOrder, ours, theirs } from "@superstep/worker-js/testing/recorded-streams"
import { byName, readRecording, type StreamEvent } from "@superstep/worker-js/testing/recording"
import { graphServerForAll } from "../testing/graph-server.js"
import { parseStrictly, RawStream } from "../testing/raw-stream.js"

const server = graphServerForAll()

/** What a server says of itself, of its library and of the request, and every server differently. */
const ownWords = new Set(["langgraph_api_url", "langgraph_plan", "langgraph_host", "user-agent", "created_by"])

const withoutOwnWords = (events: readonly StreamEvent[]): StreamEvent[] =>
  JSON.parse(JSON.stringify(events, (key, value) => (ownWords.has(key) ? undefined : value)))

for (const name of [...inOrder, ...byGroup]) {
  test(`the bytes of ${name} say what the recorded ones say`, async () => {
    const { graphId, run, events, fails } = readRecording(name)
    const { input, stream_modes, config: _, ...options } = run
    const { thread_id } = await server.client.threads.create()

    const stream = await RawStream.open(server, {
      path: `/threads/${thread_id}/runs/stream`,
      body: { assistant_id: graphId, input, stream_mode: stream_modes, ...options },
    })
    const sent = parseStrictly(await stream.ended())

    const middle = sent.filter(({ event }) => !["metadata", "error", "end"].includes(event))
    const [mine, recorded] = [ours(middle), theirs(name, events)].map(withoutOwnWords)
    if (inOrder.includes(name)) assert.deepEqual(mine, recorded)
    else assert.deepEqual(byName(mine ?? []), byName(recorded ?? []))
    assert.equal(sent[0]?.event, "metadata")
    assert.equal(sent.at(-1)?.event, "end")
    assert.equal(sent.at(-2)?.event === "error", fails)
    assert.deepEqual(
      fieldsOf(sent, "id"),
      sent.map((_, position) => String(position)),
    )
  })
}
