/** Connections between the edge and a unit fail in the middle of what is sent, at random places: E1, P1 and P2 hold. */
import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import test from "node:test"
import { unixPathOf } from "@superstep/protocol/http/address"
import { interposeSocket } from "@superstep/toolkit/testing/interposed-socket"
import { seedOfCommit } from "@superstep/toolkit/testing/seed-of-commit"
import { type Random, seededRandom } from "@superstep/toolkit/testing/seeded-random"
import { edgeWithUnit, readBody, untilOpen, withKey } from "./testing/harness.js"

const rounds = 60
const requestsOfRound = 6
// A caller that waits for what was swallowed leaves after this time.
const callerTimeoutMs = 1_000

const digest = (body: Uint8Array): string => createHash("sha256").update(body).digest("hex")
const bytesOf = (seed: number, length: number): Buffer =>
  Buffer.from(
    Array.from({ length: Math.ceil(length / 64) }, (_, n) => digest(Buffer.from(`${seed} ${n}`))).join(""),
  ).subarray(0, length)

/** What a caller has of its answer: all of it, or the knowledge that it has not. */
type Got = { readonly is: "complete"; readonly status: number; readonly body: string } | { readonly is: "broken" }

async function call(chat: string, id: string, random: Random): Promise<Got> {
  const length = random.pick([0, 1, 3000, 200_000])
  const how = random.pick(["sized", "chunked", "events"])
  const body = bytesOf(random.between(0, 1000), random.pick([0, 500, 100_000]))
  try {
    const signal = AbortSignal.timeout(callerTimeoutMs)
    const path = `${chat}/${how}/${length}/${id}`
    const response = await fetch(path, { method: "POST", headers: withKey, body, signal })
    const text = await response.text()
    if (response.status === 200) {
      assert.equal(
        text,
        `${digest(body)} ${bytesOf(length, length)}`,
        `${how} ${length}: an answer that looks complete is not`,
      )
    }
    return { is: "complete", status: response.status, body: text }
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error
    return { is: "broken" }
  }
}

test("an answer is complete, or its caller knows that it is not, and no request arrives twice, wherever a connection fails", async (t) => {
  const seed = seedOfCommit()
  t.diagnostic(`seed ${seed}`)
  const random = seededRandom(seed)
  const arrived: string[] = []
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const [, how, size = "", id = ""] = (request.url ?? "").split("/")
    const length = Number(size ?? 0)
    const body = `${digest(await readBody(request))} ${bytesOf(length, length)}`
    arrived.push(id)
    if (how === "sized") response.setHeader("content-length", Buffer.byteLength(body))
    if (how === "events") response.setHeader("content-type", "text/event-stream")
    for (let at = 0; at < body.length; at += 20_000) response.write(body.slice(at, at + 20_000))
    response.end()
  }
  await using setup = await edgeWithUnit((request, response) => {
    // A request that breaks off has not arrived.
    answer(request, response).catch(() => response.destroy())
  })
  await using proxy = await interposeSocket(unixPathOf(setup.unit.unit.address) ?? "")
  const hits = new Map<string, number>()

  for (let round = 0; round < rounds; round++) {
    // In turn, so that each kind hits.
    const kind = round % 5 === 0 ? "swallow" : "cut"
    const direction = round % 2 === 0 ? "to server" : "to client"
    const aim = proxy.aim({ kind, direction, bytes: random.pick([2, 200, 2000, 30_000]) })
    const got = await Promise.all(
      Array.from({ length: requestsOfRound }, (_, n) => call(setup.chat, `${round}-${n}`, random)),
    )
    aim.disarm()
    if (aim.isHit) hits.set(`${kind} ${direction}`, (hits.get(`${kind} ${direction}`) ?? 0) + 1)
    for (const one of got) {
      if (one.is === "complete" && one.status !== 200) {
        assert.equal(one.status, 502, one.body)
        assert.match(one.body, /"code":/)
      }
    }
  }

  t.diagnostic([...hits].map(([name, count]) => `${name}: ${count}`).join(", "))
  assert.equal(hits.size, 4, "each kind of fault has hit")
  assert.equal(new Set(arrived).size, arrived.length, "a request arrived twice")
  await untilOpen(setup.edge, { requests: 0, streams: 0 })
  assert.equal((await fetch(`${setup.chat}/sized/10/last`, { method: "POST", headers: withKey, body: "" })).status, 200)
})
