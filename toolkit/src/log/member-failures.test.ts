import assert from "node:assert/strict"
import { test } from "node:test"
import { silent } from "../testing/test-cluster.js"
import { MemberFailures, mostFailing } from "./member-failures.js"

const second = 1000

test("a member that fails stops no other, and is a problem once it has failed for a minute", async () => {
  let now = 0
  const failures = new MemberFailures(silent, () => now)
  const done: string[] = []
  let isBroken = true
  const pass = () =>
    failures.forEach(
      "planning",
      ["a", "b", "c"],
      (deployment_id) => ({ deployment_id }),
      async (id) => {
        if (id !== "c" && isBroken) throw new Error("broken")
        done.push(id)
      },
    )
  const until = async (end: number) => {
    for (; now < end; now += second) await pass()
  }

  await until(60 * second)
  assert.equal(done.length, 60)
  assert.deepEqual(failures.problems(), [
    'planning fails in 2 places for 1 min: see "work on one member failed" in the control plane\'s log',
  ])
  isBroken = false
  await pass()
  assert.deepEqual(failures.problems(), [])
  assert.deepEqual(done.slice(-3), ["a", "b", "c"])
})

test("a failure that is over counts no more: its member is gone, or its work comes once an hour and succeeds", async () => {
  const hour = 3600 * second
  let now = 0
  const failures = new MemberFailures(silent, () => now)
  const fail = (what: string) => failures.attempt(what, {}, () => Promise.reject(new Error("broken")))

  await fail("planning")
  now = 70 * second
  await fail("planning")
  assert.equal(failures.problems().length, 1)
  now += 300 * second
  assert.deepEqual(failures.problems(), [], "of a member that is deleted")

  await fail("old archives")
  assert.deepEqual(failures.problems(), [], "at the first failure")
  now += 50 * second
  await fail("old archives")
  now += hour
  await fail("old archives")
  now += 2 * hour
  assert.equal(failures.problems().length, 1)
  await failures.attempt("old archives", {}, async () => undefined)
  assert.deepEqual(failures.problems(), [])
})

test("members that come and go while they fail are forgotten, though nobody asks for problems", async () => {
  let now = 0
  const failures = new MemberFailures(silent, () => now)
  const fail = (id: number) =>
    failures.attempt("planning", { id: String(id) }, () => Promise.reject(new Error("broken")))

  for (let id = 0; id < 200; id++) {
    await fail(id)
    now += 10 * second
  }
  assert.ok(failures.size < 10, `${failures.size} are remembered`)

  now += 3600 * second
  for (const at of [0, 30, 61]) {
    const start = now
    now = start + at * second
    for (let id = 1000; id < 1000 + 2 * mostFailing; id++) await fail(id)
    now = start
  }
  now += 61 * second
  assert.equal(failures.size, mostFailing)
  assert.match(failures.problems()[0] ?? "", new RegExp(`in ${mostFailing} places for 1 min`))
})
