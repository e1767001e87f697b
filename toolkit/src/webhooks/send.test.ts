import assert from "node:assert/strict"
import type { LookupAddress } from "node:dns"
import type { LookupFunction } from "node:net"
import { test } from "node:test"
import { addressKind } from "./addresses.js"
import { type AddressGuard, guardedLookup } from "./send.js"

/** What a name leads to, one answer after the other. */
const nameServer = (...answers: LookupAddress[][]): LookupFunction =>
  ((_name: string, _options: object, done: (error: null, found: LookupAddress[]) => void) =>
    done(null, answers.length > 1 ? (answers.shift() ?? []) : (answers[0] ?? []))) as LookupFunction

const resolve = (lookup: LookupFunction, options: { all?: boolean } = {}) =>
  new Promise<unknown>((done) => lookup("evil.example", options, (error, found) => done(error?.message ?? found)))

test("the rules apply to the address that is connected to, even if a name changes its address", async () => {
  const guard: AddressGuard = (address) =>
    addressKind(address) === "public" ? undefined : `${address} is not of the world`
  const world = { address: "8.8.8.8", family: 4 }
  const changing = guardedLookup(guard, nameServer([world], [{ address: "169.254.169.254", family: 4 }]))
  const mixed = guardedLookup(guard, nameServer([{ address: "::ffff:10.0.0.1", family: 6 }, world]))

  assert.equal(await resolve(changing), "8.8.8.8")
  assert.match(String(await resolve(changing)), /evil\.example resolves to no address.*169\.254\.169\.254/)
  assert.deepEqual(await resolve(mixed, { all: true }), [world])
  assert.match(String(await resolve(guardedLookup(guard, nameServer([])))), /resolves to no address/)
})
