/** Joining a run and coming back to it: which bytes a second client gets (agent-server API §7.10). */
import assert from "node:assert/strict"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, test } from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { graphServerForAll } from "../testing/graph-server.js"
import { graphLanguages } from "../testing/languages.js"
import { RawStream } from "../testing/raw-stream.js"

for (const { name: language, env, skip } of graphLanguages) {
  describe(`in ${language}`, { skip }, () => {
    const server = graphServerForAll(env)

    /** A run that stands at its first gate. */
    async function gatedRun(options: object) {
      const gate = join(temporaryFolder(), "gate")
      const { thread_id } = await server.client.threads.create()
      const body = { assistant_id: "gated", input: { log: [] }, config: { configurable: { gate } }, ...options }
      const first = await RawStream.open(server, { path: `/threads/${thread_id}/runs/stream`, body })
      await until(() => first.names.length > 1, { what: "the first node has begun" })
      const path = `${first.headers["content-location"]}/stream`
      return {
        first,
        path,
        open: () => {
          for (const name of ["first", "inner"]) writeFileSync(`${gate}.${name}`, "")
        },
        join: (lastEventId?: string, query = "") =>
          RawStream.open(server, {
            path: `${path}${query}`,
            headers: lastEventId === undefined ? {} : { "last-event-id": lastEventId },
          }),
      }
    }

    test("a resumable run is repeated byte by byte, from any event on, while it goes on and after it", async () => {
      const { first, open, join } = await gatedRun({ stream_resumable: true, stream_mode: ["updates", "custom"] })

      const meanwhile = await join("-1")
      const afterFirst = await join("0")
      open()
      const bytes = await first.ended()
      await Promise.all([meanwhile.ended(), afterFirst.ended()])

      assert.equal(meanwhile.body, bytes)
      assert.equal(afterFirst.body, bytes.slice(bytes.indexOf("\n\n") + 2))
      for (const { id } of first.events) {
        const later = await join(id)
        const rest = bytes.slice(bytes.indexOf(`\nid: ${id}\n\n`) + `\nid: ${id}\n\n`.length)
        assert.equal(await later.ended(), rest)
      }
      assert.equal(await (await join("-1")).ended(), bytes)
    })

    test("without an id a client gets what is still to come, of a resumable run too; of one that is over, its end", async () => {
      for (const stream_resumable of [true, false]) {
        const { first, open, join } = await gatedRun({ stream_resumable, stream_mode: ["updates", "custom"] })
        const { length } = first.events

        const joined = await join()
        open()
        await Promise.all([first.ended(), joined.ended()])
        const late = await join()
        await late.ended()

        assert.deepEqual(joined.events, first.events.slice(length))
        assert.deepEqual(late.names, ["end"])
        assert.deepEqual(late.events[0]?.data, first.events.at(-1)?.data)
      }
    })

    test("a joining client may name modes, also with a namespace", async () => {
      const options = { stream_resumable: true, stream_subgraphs: true, stream_mode: ["updates", "custom", "values"] }
      const { first, open, join } = await gatedRun(options)
      open()
      await first.ended()
      const inner = first.names.find((name) => name.startsWith("updates|")) ?? ""
      const only = (...wanted: string[]) =>
        first.names.filter((name) =>
          [...wanted, "metadata", "end"].some((it) => name === it || name.startsWith(`${it}|`)),
        )

      const updates = await join("-1", "?stream_mode=updates")
      const two = await join("-1", `?stream_mode=${encodeURIComponent('["updates","custom"]')}`)
      const repeated = await join("-1", "?stream_mode=updates&stream_mode=custom")
      const deep = await join("-1", `?stream_mode=${encodeURIComponent(inner)}`)
      for (const stream of [updates, two, repeated, deep]) await stream.ended()

      assert.deepEqual(updates.names, only("updates"))
      assert.deepEqual(two.names, only("updates", "custom"))
      assert.deepEqual(repeated.names, two.names)
      assert.deepEqual(deep.names, only(inner))
      assert.equal(updates.headers.location, `${first.headers.location}?stream_mode=updates`)
    })

    test("a client may name namespaces, of which the empty one is the root", async () => {
      const modes = { stream_subgraphs: true, stream_mode: ["updates", "tasks"] }
      const body = { assistant_id: "nested", input: { log: [] }, ...modes }
      const { thread_id } = await server.client.threads.create()
      const path = `/threads/${thread_id}/runs/stream`

      const all = await RawStream.open(server, { path, body: { ...body, stream_resumable: true } })
      await all.ended()
      const root = await RawStream.open(server, { path: `${path}?namespace=`, body })
      const nothing = await RawStream.open(server, { path: `${path}?namespace=other`, body })
      const sub = all.names.find((name) => name.startsWith("updates|"))?.slice("updates|".length) ?? ""
      const joined = await RawStream.open(server, {
        path: `${all.headers.location}?namespace=${encodeURIComponent(sub)}`,
        headers: { "last-event-id": "-1" },
      })
      for (const stream of [root, nothing, joined]) await stream.ended()

      assert.ok(sub.startsWith("sub:"))
      const outer = all.names.filter((name) => !name.includes("|"))
      assert.deepEqual(root.names, outer)
      assert.deepEqual(nothing.names, ["metadata", "end"])
      assert.deepEqual(joined.names, ["metadata", ...all.names.filter((name) => name.endsWith(`|${sub}`)), "end"])
      assert.equal(root.headers.location, `${root.headers["content-location"]}/stream?namespace=`)
    })
  })
}
