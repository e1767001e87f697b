/**
 * A unit for tests that speaks protocol/unit without agents, a database or workers. The environment of the user's code sets
 * what it does wrong:
 * FAKE_EXIT_AT=start: it exits at once; FAKE_EXIT_AT=no-base: it has no database;
 * FAKE_HANG_AT=<number>: from that request for /ok on, counted over all its lives, its process stops as by SIGSTOP;
 * FAKE_OKS=<number>: it exits after that many answers to /ok, counted over all its lives;
 * FAKE_FAILED=<message>: a graph fails; FAKE_NEVER_READY=1: it never becomes ready;
 * FAKE_BUSY=<file>: it is busy while that file exists; FAKE_DUE_MS=<number>: a cron is due in that many milliseconds;
 * FAKE_WORKER_CRASHES=<number>: it reports that many crashes of workers;
 * FAKE_EATS_MB=<number>: it starts a process, in a session of its own, that uses that much memory;
 * FAKE_EATS_LATER_MB=<number>: the same at a request for /eat; FAKE_SWELLS_MB=<number>: at one for /swell it uses that much itself; FAKE_BURNS=<number>: that many threads use all processor time;
 * FAKE_CORS=<json>: its rule for pages of other origins; FAKE_PROBES=<json>: what /probe tries to reach;
 * FAKE_SAYS=<file>: /say prints the content of that file unchanged; FAKE_COMMAND=<text>: /sh runs it in a shell.
 */
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { appendFileSync, existsSync, readFileSync, statSync, writeSync } from "node:fs"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { connect, type ListenOptions } from "node:net"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { Worker } from "node:worker_threads"
import type { Share, Status } from "@superstep/protocol/unit/replies"
import { takeSettingsFile } from "@superstep/toolkit/config/settings-file"
import { asUnavailable } from "@superstep/toolkit/db/unavailable"
import { probe } from "./probe.js"

const env = takeSettingsFile(process.env)
const agentEnv = JSON.parse(env.SUPERSTEP_AGENT_ENV ?? "{}") as Record<string, string | undefined>
const revisionId = env.SUPERSTEP_REVISION_ID ?? ""
let isServing = false
/** As the last activation shared it out; a unit of an older release would report none. */
let traffic: readonly Share[] = []

const say = (msg: string, level = "info") =>
  process.stdout.write(`${JSON.stringify({ level, time: new Date().toISOString(), process: "server", msg })}\n`)

const isBusy = () => agentEnv.FAKE_BUSY !== undefined && existsSync(agentEnv.FAKE_BUSY)

/** Counts over all lives of the unit. */
function countOk(): number {
  const file = join(env.HOME ?? "", "oks")
  appendFileSync(file, "x")
  return statSync(file).size
}

const status = (): Status => ({
  revision_id: revisionId,
  pid: process.pid,
  ready: agentEnv.FAKE_NEVER_READY === undefined,
  graphs: ["chat"],
  failed: agentEnv.FAKE_FAILED ? [{ graph_id: "chat", message: agentEnv.FAKE_FAILED }] : [],
  serving: isServing,
  traffic,
  executes_pinned: true,
  running_runs: isBusy() ? 1 : 0,
  ...(agentEnv.FAKE_LOAD !== undefined && JSON.parse(readFileSync(agentEnv.FAKE_LOAD, "utf8"))),
  open_streams: 0,
  cross_origin: JSON.parse(agentEnv.FAKE_CORS ?? "null"),
  worker_crashes: agentEnv.FAKE_WORKER_CRASHES
    ? { count: Number(agentEnv.FAKE_WORKER_CRASHES), last: "exit code 3" }
    : { count: 0, last: null },
})

function reply(response: ServerResponse, code: number, body?: unknown): void {
  response.writeHead(code, { "content-type": "application/json", "x-revision-id": revisionId })
  response.end(body === undefined ? undefined : JSON.stringify(body))
}

const watches = new Set<() => void>()

/** Looks often, since tests wait for it. */
function streamStatus(response: ServerResponse, heartbeatMs: number): void {
  response.writeHead(200, { "content-type": "application/x-ndjson", "x-revision-id": revisionId })
  let last = ""
  const look = () => {
    const next = JSON.stringify(status())
    if (next !== last) response.write(`${next}\n`)
    last = next
  }
  const timers = [setInterval(look, 50), setInterval(() => response.write("\n"), heartbeatMs)]
  const end = () => {
    for (const timer of timers) clearInterval(timer)
    watches.delete(end)
    response.end()
  }
  watches.add(end)
  response.once("close", end)
  look()
}

type Answer = (response: ServerResponse, query: URLSearchParams, request: IncomingMessage) => void

const answers: Readonly<Record<string, Answer>> = {
  "/ok": (response) => {
    const oks = countOk()
    if (oks > Number(agentEnv.FAKE_OKS ?? Number.POSITIVE_INFINITY)) process.exit(3)
    if (oks >= Number(agentEnv.FAKE_HANG_AT ?? Number.POSITIVE_INFINITY)) process.kill(process.pid, "SIGSTOP")
    reply(response, 200, { ok: true })
  },
  "/internal/status": (response, query) => {
    const heartbeatMs = query.get("watch")
    if (heartbeatMs === null) reply(response, 200, status())
    else streamStatus(response, Number(heartbeatMs))
  },
  "/internal/activate": (response, _, request) => {
    text(request).then(
      (body) => {
        const { canary } = JSON.parse(body || "{}") as { canary?: Share }
        traffic = [{ revision_id: revisionId, weight: null }, ...(canary ? [canary] : [])]
        isServing = true
        say("activated")
        reply(response, 204)
      },
      (error: Error) => reply(response, 400, { detail: error.message }),
    )
  },
  "/internal/orphans": (response) => {
    const orphaned = Number(agentEnv.FAKE_ORPHANS ?? 0)
    const examples = Array.from({ length: orphaned }, (_, n) => ({ thread_id: `t${n}`, reason: "its graph is gone" }))
    reply(response, 200, { checked: 10, orphaned, examples, is_complete: true })
  },
  "/internal/idle": (response) =>
    reply(response, 200, {
      is_idle: !isBusy(),
      next_due_ms: agentEnv.FAKE_DUE_MS === undefined ? null : Number(agentEnv.FAKE_DUE_MS),
    }),
  "/say": (response) => {
    writeSync(1, readFileSync(agentEnv.FAKE_SAYS ?? ""))
    reply(response, 200, { said: true })
  },
  "/probe": (response) => {
    probe(JSON.parse(agentEnv.FAKE_PROBES ?? "{}"), env.DATABASE_URI ?? "").then(
      (found) => reply(response, 200, found),
      (error: Error) => reply(response, 500, { detail: error.message }),
    )
  },
  "/sh": (response) => {
    const env = { ...process.env, ...(agentEnv as Record<string, string>) }
    const { stdout, stderr, status } = spawnSync("sh", ["-c", agentEnv.FAKE_COMMAND ?? ""], { env, encoding: "utf8" })
    reply(response, 200, { status, output: stdout + stderr })
  },
  "/eat": (response) => {
    eat(Number(agentEnv.FAKE_EATS_LATER_MB))
    reply(response, 200, { eats: true })
  },
  "/swell": (response) => {
    const eaten = Array.from({ length: Number(agentEnv.FAKE_SWELLS_MB) }, () => Buffer.alloc(1048576, 1))
    reply(response, 200, { uses: eaten.length })
  },
  "/metrics": (response) => {
    response.end('superstep_runs{status="pending"} 2\nsuperstep_runs{status="running"} 1\n')
  },
  "/env": (response) =>
    reply(response, 200, { agent: agentEnv, own: Object.keys(process.env).sort(), uid: process.getuid?.() }),
}

// Longer than any test lasts.
const eatsForMs = 1_200_000

function eat(megabytes: number): void {
  // It ends by itself after the tests of a killed run, which cannot end it. With TMPDIR a run that goes on finds it.
  const program = `globalThis.eaten = Buffer.alloc(${megabytes} * 1048576, 1); setTimeout(() => {}, ${eatsForMs})`
  const found = { PATH: env.PATH, TMPDIR: env.TMPDIR }
  spawn(process.execPath, ["-e", program], { detached: true, stdio: "ignore", env: found }).unref()
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(request.url ?? "", "http://unit")
  const known = answers[pathname]
  if (request.headers["x-superstep-unit"] !== env.SUPERSTEP_UNIT_TOKEN) reply(response, 401, { detail: "no" })
  else if (known) known(response, searchParams, request)
  else reply(response, 404, { detail: "not found" })
}

say("unit starts")
if (agentEnv.FAKE_EXIT_AT === "start") {
  process.stderr.write("Error: the fake unit was told to end\n")
  process.exit(3)
}
if (agentEnv.FAKE_EATS_MB !== undefined) eat(Number(agentEnv.FAKE_EATS_MB))
for (let thread = 0; thread < Number(agentEnv.FAKE_BURNS ?? 0); thread++) new Worker("for (;;) {}", { eval: true })
if (agentEnv.FAKE_EXIT_AT === "no-base") {
  const [error] = (await once(connect(1, "127.0.0.1"), "error")) as [Error]
  say((asUnavailable(error) as Error).message, "fatal")
  process.exit(1)
}
const server = createServer(answer)
const place = env.SUPERSTEP_LISTEN ?? ""
const listening = (): ListenOptions & { fd?: number } => {
  if (place.startsWith("unix:")) return { path: place.slice(5) }
  if (place.startsWith("fd:")) return { fd: Number(place.slice(3)) }
  const [host = "", port] = place.split(":")
  return { host, port: Number(port) }
}
server.listen(listening(), () => say("unit listens"))
process.on("SIGTERM", () => {
  say("unit stops")
  for (const end of watches) end()
  server.closeIdleConnections()
  server.close(() => process.exit(0))
})
