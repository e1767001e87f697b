import assert from "node:assert/strict"
import test from "node:test"
import { DatabaseUnavailable } from "@superstep/toolkit/db/unavailable"
import { BuildFailed } from "../builders/failure.js"
import { TooManyDeployments } from "../runtimes/isolation.js"
import { SourceFailed } from "../sources/port.js"
import { judgeReport, reasonOfEnds } from "./deploy-stage.js"
import { type Condition, type DrainFacts, decideDrain, worstOf } from "./drain.js"
import { routesOf } from "./edge-table.js"
import { DeployFailed, judge, statusMessage } from "./failures.js"
import { foldersOf } from "./folders.js"
import { openStages } from "./pipeline.js"
import { actionFor } from "./reconcile-unit.js"
import { backOffMs } from "./restart.js"

const limits = { drainMs: 900_000, watchMs: 60_000 }
const unit = (id: string, change: Partial<DrainFacts["units"][number]> = {}): DrainFacts["units"][number] => ({
  unit_id: id,
  revision_id: `r${id}`,
  state: "draining",
  crashes: 0,
  worker_crashes: 0,
  last_worker_crash: null,
  state_ms: 1000,
  isIdle: true,
  ...change,
})
const facts = (units: DrainFacts["units"], change: Partial<DrainFacts> = {}): DrainFacts => ({
  units: [unit("new", { state: "serving", isIdle: false }), ...units],
  revisionId: "rnew",
  deployedMs: 100_000,
  isReplaced: false,
  isWatchOver: false,
  condition: "up",
  ...change,
})

const drains: readonly (readonly [string, DrainFacts, ReturnType<typeof decideDrain>])[] = [
  ["nothing is left to drain", facts([]), { kind: "done", stop: [], endsWatch: true }],
  ["an idle old unit ends", facts([unit("old")]), { kind: "done", stop: ["old"], endsWatch: true }],
  ["a busy one goes on", facts([unit("old", { isIdle: false })]), { kind: "wait", stop: [], endsWatch: true }],
  [
    "but not for ever",
    facts([unit("old", { isIdle: false, state_ms: 900_000 })]),
    { kind: "done", stop: ["old"], endsWatch: true },
  ],
  [
    "while the new one is watched, the last one stands by",
    facts([unit("old")], { deployedMs: 10 }),
    { kind: "wait", stop: [], endsWatch: false },
  ],
  [
    "and only that one",
    facts([unit("old"), unit("older")], { deployedMs: 10 }),
    { kind: "wait", stop: ["older"], endsWatch: false },
  ],
  [
    "a newer revision looks after the old ones",
    facts([unit("old")], { isReplaced: true }),
    { kind: "done", stop: [], endsWatch: false },
  ],
]
for (const [what, given, decision] of drains) {
  test(`drain: ${what}`, () => assert.deepEqual(decideDrain(given, limits), decision))
}

test("drain: the second crash of a watched unit rolls back, one crash or a late one does not", () => {
  const crashed = (crashes: number, deployedMs: number) => {
    const own = unit("new", { state: "serving", crashes, isIdle: false })
    return decideDrain({ ...facts([]), units: [own, unit("old")], deployedMs }, limits).kind
  }

  assert.equal(crashed(2, 10), "roll back")
  assert.equal(crashed(1, 10), "wait")
  assert.equal(crashed(5, 60_001), "done")
})

test("drain: crashes of workers count as those of the unit do, and the reason says which they were", () => {
  const crashed = (change: Partial<DrainFacts["units"][number]>) => {
    const own = unit("new", { state: "serving", isIdle: false, last_worker_crash: "exit code 3", ...change })
    return decideDrain({ ...facts([]), units: [own, unit("old")], deployedMs: 10 }, limits)
  }
  const said = (decision: ReturnType<typeof decideDrain>) => decision.kind === "roll back" && decision.said

  assert.equal(crashed({ worker_crashes: 1 }).kind, "wait")
  const workers = "its worker processes crashed 2 times, the last one with exit code 3"
  assert.equal(said(crashed({ worker_crashes: 2 })), workers)
  assert.equal(
    said(crashed({ crashes: 1, worker_crashes: 1 })),
    "the agent server ended once after it took over; its worker processes crashed once, the last one with exit code 3",
  )
})

test("drain: the unit before stands by until the new one is up, and serves again when it does not come up", () => {
  const after = (condition: Condition, deployedMs: number) =>
    decideDrain(facts([unit("old")], { condition, deployedMs }), limits)

  assert.deepEqual(after("down", 60_001), { kind: "wait", stop: [], endsWatch: false })
  const rolledBack = after("down", 120_000)
  assert.deepEqual(rolledBack.kind === "roll back" && [rolledBack.to, rolledBack.code], ["rold", "health_timeout"])
  assert.equal(decideDrain(facts([], { condition: "down", deployedMs: 120_000 }), limits).kind, "done")
  assert.equal(decideDrain(facts([unit("old")], { condition: "down" }), { ...limits, watchMs: 0 }).kind, "done")
})

test("drain: a unit that is slow to answer is waited for, and is no reason to roll back", () => {
  const slow = facts([unit("old")], { condition: "silent", deployedMs: 500_000 })

  assert.deepEqual(decideDrain(slow, limits), { kind: "wait", stop: [], endsWatch: false })
  assert.deepEqual(decideDrain({ ...slow, condition: "up" }, limits), { kind: "done", stop: ["old"], endsWatch: true })
})

test("drain: nothing rolls back after a watch that ended well, while old streams go on", () => {
  const later = { isWatchOver: true, deployedMs: 500_000 }
  const old = unit("old", { isIdle: false })
  const own = unit("new", { state: "serving", crashes: 5, isIdle: false })

  const down = decideDrain(facts([old], { ...later, condition: "down" }), limits)
  const crashed = decideDrain({ ...facts([], { ...later, condition: "down" }), units: [own, old] }, limits)

  assert.deepEqual(down, { kind: "wait", stop: [], endsWatch: true })
  assert.deepEqual(crashed, down)
})

test("drain: the worst of several replicas counts", () => {
  assert.equal(worstOf(["up", "silent", "down"]), "down")
  assert.equal(worstOf(["up", "silent"]), "silent")
  assert.equal(worstOf(["up", "up"]), "up")
})

const fit = { is_wanted: true, is_outdated: false, is_ready: true, is_down: false, may_start: true } as const
const actions: readonly (readonly [...Parameters<typeof actionFor>, ReturnType<typeof actionFor>])[] = [
  [{ ...fit, state: "starting" }, "exited", "leave"],
  [{ ...fit, state: "serving" }, "running", "activate"],
  [{ ...fit, state: "draining" }, "running", "leave"],
  [{ ...fit, state: "serving" }, "exited", "note crash"],
  [{ ...fit, state: "serving", is_down: true, may_start: false }, "exited", "leave"],
  [{ ...fit, state: "serving", is_down: true }, "exited", "start"],
  [{ ...fit, state: "serving" }, "absent", "start"],
  [{ ...fit, state: "draining" }, "exited", "leave"],
  [{ ...fit, state: "stopping" }, "running", "stop"],
  [{ ...fit, state: "serving", is_wanted: false }, "running", "suspend"],
  [{ ...fit, state: "draining", is_wanted: false }, "running", "suspend"],
  [{ ...fit, state: "serving", is_wanted: false }, "absent", "leave"],
  [{ ...fit, state: "serving", is_wanted: false }, "exited", "leave"],
  [{ ...fit, state: "serving", is_outdated: true }, "running", "restart"],
  [{ ...fit, state: "serving", is_ready: false }, "running", "let in"],
  [{ ...fit, state: "serving", is_ready: false }, "absent", "start"],
]
for (const [row, status, action] of actions) {
  const facts = Object.entries(row).filter(([name, value]) => fit[name as keyof typeof fit] !== value)
  test(`a unit ${JSON.stringify(Object.fromEntries(facts))} whose process is ${status}: ${action}`, () => {
    assert.equal(actionFor(row, status), action)
  })
}

test("a person's fault fails at once, any other is tried three more times", () => {
  const network = new SourceFailed("source_not_found", "no route", { isTransient: true })

  for (const error of [
    new BuildFailed("config_invalid", "bad"),
    new SourceFailed("source_auth", "no"),
    new DeployFailed("crash_loop", "ends"),
  ]) {
    assert.deepEqual(judge(error, 0), { kind: "fail", code: error.code, message: error.message })
  }
  const delays = [0, 1, 2].map((attempts) => judge(network, attempts)).map((it) => it.kind === "retry" && it.delayMs)
  assert.deepEqual(delays, [5000, 20_000, 60_000])
  assert.deepEqual(judge(network, 3), { kind: "fail", code: "source_not_found", message: "no route" })
  assert.deepEqual(judge(new Error("a bug"), 3), { kind: "fail", code: "internal", message: "a bug" })
  // Of a unit's socket: it says nothing of the database.
  const refused = Object.assign(new Error("refused"), { code: "ECONNREFUSED" })
  assert.deepEqual(judge(refused, 3), { kind: "fail", code: "internal", message: "refused" })
  const full = new TooManyDeployments("all users are given out")
  assert.deepEqual(judge(full, 0), { kind: "fail", code: "capacity", message: "all users are given out" })
  const away = new DatabaseUnavailable("away")
  assert.deepEqual(judge(away, 3), { kind: "fail", code: "db_unreachable", message: "away" })
  const noRoom = new Error("ENOSPC: no space left on device, mkdir 'work'")
  assert.equal(judge(noRoom, 0).kind, "retry")
  assert.deepEqual(judge(noRoom, 3), { kind: "fail", code: "disk_full", message: "the platform's disk is full" })
})

test("the last lines of a process tell why it ended", () => {
  const heap = "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory"

  assert.equal(reasonOfEnds([heap, "----- Native stack trace -----"]), "oom_killed")
  assert.equal(reasonOfEnds(["the database cannot be reached (ECONNREFUSED): try again in a moment"]), "db_unreachable")
  assert.equal(reasonOfEnds(["Error: no"]), "crash_loop")
})

test("a reader of the revision sees the fault, what to do, and the end of the log", () => {
  const message = statusMessage("install_failed", '"npm ci" ended with exit code 1', ["npm error code E404", ""])

  assert.match(message, /^"npm ci" ended with exit code 1\. Run the same command/)
  assert.match(message, /\n {2}npm error code E404$/)
})

test("the sentence of a failure ends with one full stop, and its paths stay as they are", () => {
  assert.match(
    statusMessage("graph_missing", "there is no ../graphs/chat.ts.", []),
    /^there is no \.\.\/graphs\/chat\.ts\. Correct/,
  )
})

test("a unit that is ready may take over; a graph that does not load says which and why", () => {
  const report = {
    revision_id: "r1",
    pid: 1,
    ready: true,
    graphs: ["chat"],
    failed: [],
    serving: false,
    running_runs: 0,
    open_streams: 0,
    worker_crashes: { count: 0, last: null },
    cross_origin: null,
  }

  assert.equal(judgeReport({ ...report, ready: false }, "r1"), false)
  assert.equal(judgeReport(report, "another"), false)
  assert.equal(judgeReport(report, "r1"), true)
  const broken = { ...report, failed: [{ graph_id: "chat", message: "no key" }] }
  const refusal = (error: unknown) => error instanceof DeployFailed && error.code === "graph_load_failed"
  assert.throws(() => judgeReport(broken, "r1"), refusal)
  const refused = { ...report, failed: [{ graph_id: "auth.path", message: "no key" }] }
  assert.throws(() => judgeReport(refused, "r1"), /^DeployFailed: auth\.path does not load: no key/)
})

test("builds are limited, and so is everything together", () => {
  assert.ok(openStages([], 1).includes("build"))
  assert.ok(!openStages(["build"], 1).includes("build"))
  assert.ok(openStages(["build"], 1).includes("deploy"))
  assert.deepEqual(openStages(Array(8).fill("drain"), 1), [])
})

test("a unit's restarts come later and later, up to a minute", () => {
  assert.deepEqual([1, 2, 3, 20].map(backOffMs), [1000, 2000, 4000, 60_000])
})

test("a route knows the keys of its own workspace only, and the unit that stands by", () => {
  const row = {
    name: "chat",
    deployment_id: "d",
    revision_id: "r",
    workspace_id: "w1",
    unit_id: "u",
    state: "serving" as const,
    token_sealed: "x",
    is_ready: true,
    is_paused: false,
    is_refused: false,
    deployment_type: "dev",
    cross_origin: null,
  }
  const former = { ...row, unit_id: "old", revision_id: "r0", state: "draining" as const }
  const keys = new Map([
    ["w1", { run: ["a"], read: ["c"] }],
    ["w2", { run: ["b"], read: [] }],
  ])

  const placed = [row, former].map((it) => ({ ...it, token: "t", socketPath: `/${it.unit_id}` }))
  assert.deepEqual(routesOf(placed, keys), [
    {
      name: "chat",
      deployment_id: "d",
      revision_id: "r",
      keys: ["a"],
      read_keys: ["c"],
      units: [{ unit_id: "u", socket_path: "/u", token: "t" }],
      state: "serving",
      standby: [{ unit_id: "old", socket_path: "/old", token: "t" }],
    },
  ])
  const other = { ...row, unit_id: "u2", token: "t2", socketPath: "/s2", is_ready: false }
  const stateOf = (...rows: Parameters<typeof routesOf>[0]) =>
    routesOf(rows, keys).map(({ state, units }) => [state, units.map(({ unit_id }) => unit_id)])
  assert.deepEqual(stateOf({ ...row, token: "t", socketPath: "/s" }, other), [["serving", ["u"]]])
  assert.deepEqual(stateOf(other), [["held", []]])
  const limitOf = (type: string, most: number) =>
    routesOf([{ ...other, deployment_type: type }], keys, most)[0]?.max_requests_per_second
  assert.deepEqual([limitOf("prod", 500), limitOf("dev", 500), limitOf("prod", 0)], [500, undefined, undefined])
  const cors = { origins: null, methods: ["GET"], headers: [], exposed: [], credentials: false, max_age_seconds: null }
  assert.deepEqual(routesOf([{ ...other, cross_origin: cors }], keys)[0]?.cors, cors)
  assert.deepEqual(stateOf({ ...other, is_refused: true }), [["full", []]])
  assert.deepEqual(stateOf({ ...other, is_paused: true, is_refused: true }), [["paused", []]])
})

test("sockets have short paths, wherever the data folder is", () => {
  assert.equal(foldersOf("/srv/agents").run, "/srv/agents/run")
  assert.ok(Buffer.byteLength(foldersOf(`/${"long/".repeat(30)}`).run) <= 70)
})
