import assert from "node:assert/strict"
import { test } from "node:test"
import { type AgentToken, endOf, keepToken } from "./agent-token.js"

const tokenUntil = (ms: number, token = `until ${ms}`): AgentToken => ({
  token,
  url: "http://agents.test/d/chat",
  scopes: ["read", "run"],
  endsAt: ms,
})

test("a token is used until a minute before it ends, then renewed once for all requests", async () => {
  let now = 0
  let renewals = 0
  const renew = async () => tokenUntil(now + 600_000, `renewal ${++renewals}`)
  const current = keepToken(tokenUntil(600_000), renew, { now: () => now })

  assert.equal((await current()).token, "until 600000")
  now = 540_001
  const tokens = await Promise.all([current(), current(), current()])

  assert.deepEqual([...new Set(tokens.map(({ token }) => token))], ["renewal 1"])
  assert.equal((await current()).token, "renewal 1")
})

test("a wrong clock of the browser neither shortens nor prolongs a token", () => {
  const expiresAt = "2026-01-01T00:10:00.000Z"
  const date = "Thu, 01 Jan 2026 00:00:00 GMT"
  const anHourLate = Date.parse("2026-01-01T01:00:00Z")

  assert.equal(endOf(expiresAt, date, anHourLate) - anHourLate, 600_000)
  assert.equal(endOf(expiresAt, null, 0), Date.parse(expiresAt))
})

test("after a failed renewal the next request tries again", async () => {
  const answers = [Promise.reject(new Error("no control plane")), Promise.resolve(tokenUntil(900_000, "second try"))]
  const renew = () => answers.shift() ?? assert.fail("asked too often")
  const current = keepToken(tokenUntil(0), renew, { now: () => 1 })

  await assert.rejects(current(), /no control plane/)
  assert.equal((await current()).token, "second try")
})

test("a renewed token with other scopes is reported", async () => {
  const reported: (readonly string[])[] = []
  const keep = (scopes: readonly string[]) =>
    keepToken(tokenUntil(0), async () => ({ ...tokenUntil(900_000), scopes }), {
      now: () => 1,
      onOtherScopes: (token) => reported.push(token.scopes),
    })

  for (const scopes of [
    ["read", "run"],
    ["read", "run", "approve"],
  ])
    await keep(scopes)()

  assert.deepEqual(reported, [["read", "run", "approve"]])
})
