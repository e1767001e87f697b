import assert from "node:assert/strict"
import { test } from "node:test"
import { type Activity, follow, noActivity, nodesOfTasks, type ThreadEvent } from "./activity.js"

const lifecycle = (id: string, event: string, error?: string): ThreadEvent => ({
  event_id: `synth:${id}`,
  method: "lifecycle",
  params: { namespace: [], data: { event, error } },
})
const task = (namespace: string[], data: object): ThreadEvent => ({ method: "tasks", params: { namespace, data } })
const started = (id: string, name: string, namespace: string[] = []) =>
  task(namespace, { id, name, input: {}, triggers: [] })
const ended = (id: string, name: string, more: object = {}, namespace: string[] = []) =>
  task(namespace, { id, name, result: {}, interrupts: [], ...more })
const after = (...events: ThreadEvent[]): Activity => events.reduce(follow, noActivity)
const statuses = ({ nodes }: Activity) => Object.fromEntries([...nodes].map(([id, { status }]) => [id, status]))

test("a node runs from the start of its task to its end", () => {
  const running = after(lifecycle("r1:running", "running"), started("t1", "agent"))
  const done = [ended("t1", "agent"), lifecycle("r1:completed", "completed")].reduce(follow, running)

  assert.deepEqual([running.status, statuses(running)], ["running", { agent: "running" }])
  assert.deepEqual([done.status, statuses(done)], ["completed", { agent: "done" }])
})

test("nodes of nested graphs have the ids of the drawn graph, and a question waits in each graph around it", () => {
  const activity = after(
    lifecycle("r1:running", "running"),
    started("t1", "refund"),
    started("t2", "ask", ["refund:t1"]),
    ended("t2", "ask", { interrupts: [{ id: "i" }] }, ["refund:t1"]),
    ended("t1", "refund", { interrupts: [{ id: "i" }] }),
    lifecycle("r1:interrupted", "interrupted"),
  )

  assert.deepEqual(statuses(activity), { refund: "waiting", "refund:ask": "waiting" })
})

test("a node of a fan-out runs until its last task has ended", () => {
  const activity = after(started("t1", "fetch"), started("t2", "fetch"), ended("t1", "fetch"))

  assert.deepEqual(statuses(activity), { fetch: "running" })
  assert.equal(activity.nodes.get("fetch")?.times, 2)
  assert.deepEqual(statuses(follow(activity, ended("t2", "fetch"))), { fetch: "done" })
})

test("a later attempt keeps what was done and drops what was running", () => {
  const lost = after(lifecycle("r1:running", "running"), started("t1", "a"), ended("t1", "a"), started("t2", "b"))
  const second = follow(lost, lifecycle("r1:running:2", "running"))

  assert.deepEqual([second.attempt, statuses(second)], [2, { a: "done" }])
})

test("the next run begins with nothing done, and a failed one says where and why", () => {
  const first = after(lifecycle("r1:running", "running"), started("t1", "a"), ended("t1", "a"))
  const second = [lifecycle("r2:running", "running"), started("t2", "b")].reduce(follow, first)
  const failed = follow(second, lifecycle("r2:failed", "failed", "no more money"))

  assert.deepEqual([second.runId, statuses(second)], ["r2", { b: "running" }])
  assert.deepEqual([failed.error, statuses(failed)], ["no more money", { b: "failed" }])
})

test("a thread without a run shows where it stands by the tasks of its state", () => {
  const inner = { tasks: [{ name: "ask", interrupts: [{}] }] }
  const nodes = nodesOfTasks([{ name: "refund", interrupts: [{}], state: inner }, { name: "other" }])

  assert.deepEqual(statuses({ ...noActivity, nodes }), { refund: "waiting", "refund:ask": "waiting" })
})

test("results of a checkpoint's tasks are done only beside a task that stopped", () => {
  const statuses = (tasks: Parameters<typeof nodesOfTasks>[0]) =>
    [...nodesOfTasks(tasks)].map(([id, { status }]) => `${id} ${status}`)

  assert.deepEqual(statuses([{ name: "a", result: {} }]), [])
  assert.deepEqual(statuses([{ name: "a", result: {} }, { name: "b", error: "no" }, { name: "c" }]), [
    "a done",
    "b failed",
  ])
})
