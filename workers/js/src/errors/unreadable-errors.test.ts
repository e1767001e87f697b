/** Errors of user code that cannot be read, wherever a project can raise one: each ends what raised it, as any error would, and nothing else. */
import assert from "node:assert/strict"
import { after, before, describe, test } from "node:test"
import type { FakeServer, Received } from "../testing/fake-server.js"
import { languages } from "../testing/languages.js"

const unread = /cannot be read/

for (const { name, skip, open } of languages) {
  describe(`in ${name}`, { skip }, () => {
    const at = (file: string) => (name === "Python" ? `./${file.replaceAll("-", "_")}.py` : `./src/${file}.ts`)
    const graphs = {
      graph: `${at("unreadable")}:graph`,
      factory: `${at("unreadable")}:${name === "Python" ? "make_graph" : "makeGraph"}`,
      broken: `${at("unreadable-load")}:graph`,
      echo: `${at("echo")}:graph`,
    }
    let server: FakeServer
    let project: string

    const load = async (over: FakeServer, more: object) => {
      await over.frame(({ header }) => header.type === "hello")
      over.send({ type: "load", project, graphs, ...more })
      const { header } = await over.frame((each) => each.header.type === "loaded")
      assert.ok(header.type === "loaded")
      return header
    }
    /** The worker goes on with other runs. */
    const works = async () => assert.equal((await server.run("echo", { input: {} })).status, "success")

    before(async () => {
      ;({ server, project } = await open())
      await load(server, { auth: `${at("unreadable-auth")}:auth` })
    })
    after(() => server?.[Symbol.asyncDispose]())

    for (const where of ["work", "node", "tool", "model", "rejection"]) {
      test(`of a ${where}: it fails its run`, async () => {
        const options = { trace: "full", protocol_events: true, stream_modes: ["values", "tasks", "debug"] } as const

        const failed = await server.run("graph", { input: { where }, ...options })
        const plain = await server.run("graph", { input: { where }, stream_modes: ["events"] })

        assert.deepEqual([failed.status, plain.status], ["error", "error"])
        await works()
      })
    }

    for (const where of ["work", "node", "tool", "model"]) {
      test(`of a ${where} that the node catches: the run goes on`, async () => {
        const options = { trace: "full", protocol_events: true } as const

        const { status, error } = await server.run("graph", { input: { where, caught: true }, ...options })

        assert.deepEqual([status, error], ["success", undefined])
      })
    }

    for (const protocol_events of [false, true]) {
      test(`in custom events, ${protocol_events ? "with" : "without"} protocol events: the others are told`, async () => {
        const options = { protocol_events, stream_modes: ["custom"], input: { where: "custom" } } as const

        const { status, error, events } = await server.run("graph", options)

        assert.deepEqual([status, error], ["success", undefined])
        const [first, ...others] = events.filter(({ event }) => event === "custom").map(({ data }) => data)
        assert.match((first as { error: { message: string } }).error.message, unread)
        assert.ok(others.length > 0)
        const protocol = events.filter(({ event }) => event.startsWith("protocol:custom"))
        assert.equal(protocol.length, protocol_events ? others.length + 1 : 0)
      })
    }

    test("of a factory: it fails its run, and what asks for the graph", async () => {
      const { status, error } = await server.run("factory", { input: {} })

      assert.equal(status, "error")
      assert.match(error?.message ?? "", unread)
      await assert.rejects(server.ask({ method: "graph.schemas", graph_id: "factory" }), unread)
      await works()
    })

    test("of a file or an auth module that does not load: it is reported, and the others load", async () => {
      await using other = (await open()).server

      const { graphs, failed, auth_error } = await load(other, { auth: `${at("unreadable-load")}:auth` })

      assert.deepEqual(
        [graphs.map(({ graph_id }) => graph_id), failed.map(({ graph_id }) => graph_id)],
        [["graph", "factory", "echo"], ["broken"]],
      )
      for (const error of [failed[0]?.error, auth_error]) assert.match(error?.message ?? "", unread)
    })

    test("of an auth handler: the request is refused, and the next is answered", async () => {
      const asked = { request: JSON.stringify({ method: "GET", url: "http://localhost/threads", headers: [] }) }
      const user = { identity: "ada", display_name: "ada", is_authenticated: true, permissions: [] }
      const value = { value: "{}", user: JSON.stringify(user) }
      const rule = { method: "auth.authorize", event: "threads:create", handler: "*" }

      for (let n = 0; n < 2; n++) {
        await assert.rejects(server.call({ method: "auth.authenticate" }, asked), unread)
        await assert.rejects(server.call(rule, value), unread)
      }
      const isFailure = ({ header }: Received) => header.type === "failure"
      assert.ok(server.received.filter(isFailure).length >= 4)
    })
  })
}
