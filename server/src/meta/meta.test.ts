import assert from "node:assert/strict"
import { test } from "node:test"
import { until } from "@superstep/toolkit/testing/until"
import { freshHttp } from "../testing/test-http.js"
import { isTracedToLangsmith, renderInfo } from "./info.js"

/** The samples of a scrape, by name with labels. */
const samplesOf = (text: string): Record<string, number> =>
  Object.fromEntries(
    text
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("#"))
      .map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ")))]),
  )

test("the server answers health checks, returns its versions, and its metrics as text for Prometheus or as JSON", async () => {
  await using http = await freshHttp()

  const root = await http.send("GET", "/")
  const ok = await http.send("GET", "/ok?check_db=1")
  const info = await http.send("GET", "/info")
  const text = await http.send("GET", "/metrics")
  const json = await http.send("GET", "/metrics?format=json")
  const other = await http.send("GET", "/metrics?format=xml")

  assert.deepEqual([root.json, ok.json], [{ ok: true }, { ok: true }])
  const { context, flags } = info.json as { context: string; flags: Record<string, boolean> }
  assert.deepEqual([context, flags.assistants, flags.crons, flags.langsmith], ["js", true, true, false])
  assert.match(text.headers.get("content-type") ?? "", /^text\/plain; version=0\.0\.4/)
  assert.ok((json.json as { name: string }[]).some(({ name }) => name === "superstep_queue_depth"))
  assert.equal(other.status, 422)
})

const infoOf = (report: object) =>
  renderInfo({ version: "0.1.0", report: { graphs: [], failed: [], ...report }, tracesToLangsmith: false })

test("graphs that failed to load are named, without their errors", () => {
  const failed = [{ graphId: "broken", message: "SyntaxError: Unexpected token", codeFrame: "> 1 | const key = 'k'" }]

  const { metadata } = infoOf({ graphs: ["whole"], failed }) as { metadata: object }

  assert.deepEqual(metadata, { server: "superstep", server_version: "0.1.0", failed_graphs: ["broken"] })
})

test("the flag strict_resume is true when every loaded library supports it", () => {
  const flag = (langgraph: object) => (infoOf({ langgraph }) as { flags: Record<string, boolean> }).flags.strict_resume

  const mixed = { javascript: "1.7.3", python: "1.3.0" }
  const known = [{ javascript: "1.7.0" }, { javascript: "1.10.2" }, { python: "1.2.22" }, mixed]
  const unknown = [{}, { javascript: "1.4.12" }, { python: "1.0.1" }, { javascript: "1.7.3", python: "1.2.10" }]

  assert.deepEqual([known.map(flag), unknown.map(flag)], [known.map(() => true), unknown.map(() => false)])
})

test("runs are traced to LangSmith when a key is set and tracing is not disabled", () => {
  assert.equal(isTracedToLangsmith({}), false)
  assert.equal(isTracedToLangsmith({ LANGSMITH_API_KEY: "k" }), true)
  assert.equal(isTracedToLangsmith({ LANGCHAIN_API_KEY: "k", LANGCHAIN_TRACING_V2: "False" }), false)
})

test("metrics count pending, running and ended runs and their durations", async () => {
  await using http = await freshHttp({ slots: 1 })
  const scrape = async () => samplesOf((await http.send("GET", "/metrics")).text)
  const create = (fields = {}) => http.send("POST", "/runs", { assistant_id: "agent", input: {}, ...fields })
  const whenOne = (name: string) =>
    until(
      async () => {
        const samples = await scrape()
        return samples[name] === 1 ? samples : undefined
      },
      { what: `${name} is 1` },
    )

  await create()
  await create()
  await create({ after_seconds: 1000 })
  const busy = await whenOne('superstep_runs{status="running"}')
  const { workers } = http.server
  workers.started[0]?.emit("values", {})
  workers.started[0]?.done()
  await until(() => workers.started.length === 2, { what: "the second run starts" })
  workers.started[1]?.done({ status: "error", error: { error: "Boom", message: "x" } })
  const after = await whenOne('superstep_runs_ended_total{status="error"}')

  assert.equal(busy['superstep_runs{status="pending"}'], 2)
  assert.deepEqual([busy.superstep_queue_depth, busy.superstep_database_up], [1, 1])
  assert.equal(after['superstep_runs_ended_total{status="success"}'], 1)
  assert.equal(after.superstep_queue_wait_seconds_count, 2)
  assert.equal(after.superstep_time_to_first_event_seconds_count, 1)
  assert.equal(after.superstep_run_duration_seconds_count, 2)
  assert.equal(after.superstep_worker_restarts_total, 0)
  for (const name of ["superstep_open_streams", "process_resident_memory_bytes", "process_cpu_seconds_total"]) {
    assert.equal(typeof after[name], "number", name)
  }
})

test("the reference page needs no other files and lists every operation of the document", async () => {
  await using http = await freshHttp({ http: { mount_prefix: "/agents", disable_store: true } })

  const page = await http.send("GET", "/agents/docs")
  const { json } = await http.send("GET", "/agents/openapi.json")
  const { paths, servers } = json as { paths: Record<string, unknown>; servers: { url: string }[] }

  assert.doesNotMatch(page.text, /<script|src=|https?:\/\/(?!www\.apache)/)
  for (const path of Object.keys(paths)) assert.ok(page.text.includes(path.replaceAll("&", "&amp;")), path)
  assert.deepEqual(servers, [{ url: "/agents" }])
  assert.ok(!Object.keys(paths).some((path) => path.startsWith("/store")))
})
