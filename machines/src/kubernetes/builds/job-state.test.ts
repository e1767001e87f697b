import assert from "node:assert/strict"
import test from "node:test"
import type { BuildCode } from "@superstep/builder/faults/build-failed"
import { type BuildCodes, buildCodes } from "@superstep/builder/faults/error-codes"
import { lineWriter } from "@superstep/builder/job/job-log"
import { countOomKills, failureText } from "@superstep/builder/job/job-places"
import type { Job, Pod } from "../cluster/objects.js"
import { jobState } from "./job-state.js"

const limits = { memoryMb: 4096, diskMb: 512, startMs: 600_000 }
const created = "2026-11-26T10:00:00Z"
const soon = new Date("2026-11-26T10:01:00Z")
const later = new Date("2026-11-26T10:11:00Z")

const job = (...conditions: { type: string; reason?: string; message?: string }[]): Job => ({
  apiVersion: "batch/v1",
  kind: "Job",
  metadata: { name: "build", creationTimestamp: created },
  status: { conditions: conditions.map((it) => ({ ...it, status: "True" })) },
})
type State = NonNullable<NonNullable<NonNullable<Pod["status"]>["containerStatuses"]>[number]["state"]>

const pod = (status: Pod["status"], states: Readonly<Record<string, State>> = {}): Pod => {
  const all = Object.entries(states).map(([name, state]) => ({ name, state }))
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "build-x", creationTimestamp: created },
    spec: { containers: [] },
    status: {
      ...status,
      initContainerStatuses: all.filter(({ name }) => name !== "push"),
      containerStatuses: all.filter(({ name }) => name === "push"),
    },
  }
}
const failedIn = (name: string, terminated: State["terminated"]) =>
  pod({ phase: "Failed" }, { [name]: { terminated } as State })
const stateOf = (of: Job, its?: Pod, now = soon) => jobState(of, its, now, limits)

const exceeded = job({ type: "Failed", reason: "DeadlineExceeded" })
const failedWith = (found: ReturnType<typeof stateOf>) => (found.state === "failed" ? found.code : found.state)

test("a build runs until its pod has failed, or its Job says that it is complete", () => {
  const states = [stateOf(job()), stateOf(job(), pod({ phase: "Running" })), stateOf(job({ type: "Complete" }))]
  assert.deepEqual(states, [{ state: "running" }, { state: "running" }, { state: "sent" }])
})

test("a container that the node killed for its memory is named with the limit of builds, but not the one that sends", () => {
  const killed = { exitCode: 137, reason: "OOMKilled" }

  assert.deepEqual(stateOf(job(), failedIn("build", killed)), {
    state: "failed",
    code: "build_oom",
    message: "the build used more memory than its limit of 4096 MB",
  })
  assert.equal(failedWith(stateOf(job(), failedIn("verify", killed))), "build_oom")
  assert.equal(failedWith(stateOf(job(), failedIn("push", killed))), "ended")
})

test("the termination message of a container is the project's fault, unless it is internal", () => {
  const failingWith = (message: string) => failedIn("build", { exitCode: 1, reason: "Error", message })
  const failing = (error_code: BuildCode) => failingWith(failureText({ error_code, message: "no such file" }))

  for (const code of Object.keys(buildCodes) as (keyof BuildCodes)[]) {
    const found = stateOf(job({ type: "Failed" }), failing(code))
    assert.deepEqual(found, { state: "failed", code, message: "no such file" })
  }
  const ended = stateOf(job(), failing("internal"))
  assert.equal(ended.state === "ended" && ended.why, 'the build\'s container "build" failed: no such file')
  const invented = stateOf(job(), failingWith(JSON.stringify({ error_code: "crash_loop", message: "no such file" })))
  assert.equal(invented.state, "ended", "user code may have written it")
})

test("a container that wrote no termination message is described by the end of its log", () => {
  const printed: string[] = []
  const write = lineWriter(
    (line) => printed.push(line),
    (text) => text,
  )
  write("install: npm ci")
  const message = `${printed.join("")}Segmentation fault\n`

  const ended = stateOf(job(), failedIn("build", { exitCode: 139, reason: "Error", message }))

  const why = 'the build\'s container "build" failed: exit code 139 (Error): install: npm ci · Segmentation fault'
  assert.deepEqual(ended, { state: "ended", why })
})

test("a Job for which the cluster creates no pod is given up, and that is not the project's fault", () => {
  const none = { state: "ended", why: "the cluster has no pod for the build: see the events of the Job build" }

  assert.deepEqual(stateOf(job(), undefined, soon), { state: "running" })
  assert.deepEqual(stateOf(job(), undefined, later), none)
  assert.deepEqual(stateOf(exceeded, undefined, later), none)
  const deleted = stateOf({ ...exceeded, status: { ...exceeded.status, failed: 1 } }, undefined, later)
  assert.equal(failedWith(deleted), "build_timeout", "its pod was deleted at the deadline")
})

test("a pod that no node starts is given up, with the reason; a long wait is not the project's fault", () => {
  const message = "0/3 nodes are available: 3 Insufficient memory."
  const waiting = pod({ phase: "Pending", conditions: [{ type: "PodScheduled", status: "False", message }] })

  assert.deepEqual(stateOf(job(), waiting, soon), { state: "running" })
  for (const now of [stateOf(job(), waiting, later), stateOf(exceeded, waiting)])
    assert.deepEqual(now, { state: "ended", why: `the build's pod has not started: ${message}` })
  const working = pod({ phase: "Pending" }, { build: { running: {} } })
  assert.deepEqual(stateOf(job(), working, later), { state: "running" })
  assert.equal(failedWith(stateOf(exceeded, working)), "build_timeout")
})

test("an eviction is the project's fault only when it used too much disk", () => {
  const evicted = (message: string) => stateOf(job(), pod({ phase: "Failed", reason: "Evicted", message }))

  for (const message of [
    "Pod ephemeral local storage usage exceeds the total limit of containers 1536Mi. ",
    'Container build exceeded its local ephemeral storage limit "1536Mi". ',
  ])
    assert.deepEqual(evicted(message), {
      state: "failed",
      code: "build_too_big",
      message: "the build used more disk space than its limit of 512 MB",
    })
  assert.equal(evicted("The node was low on resource: ephemeral-storage. ").state, "ended")
})

test("kills for memory are counted in both versions of control groups", () => {
  assert.equal(countOomKills("low 0\nhigh 0\nmax 12\noom 1\noom_kill 1\noom_group_kill 0\n"), 1)
  assert.equal(countOomKills("oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"), 2)
  assert.equal(countOomKills("oom_kill 0\n"), 0)
  assert.equal(countOomKills(""), 0)
})
