import assert from "node:assert/strict"
import { test } from "node:test"
import { UserCache } from "./user-cache.js"

const user = (identity: string) => ({ identity, display_name: identity, is_authenticated: true, permissions: [] })
const shows = (token: string) => new Headers({ authorization: token, accept: "any" })

test("a user is cached for the configured time and only for the same headers", () => {
  let now = 0
  const cache = new UserCache({ cache_keys: ["Authorization"], ttl_seconds: 2 }, () => now)
  cache.set(shows("ada"), user("ada"))

  assert.equal(cache.get(shows("ada"))?.identity, "ada")
  assert.equal(cache.get(shows("bob")), undefined)
  now = 1999
  assert.equal(cache.get(shows("ada"))?.identity, "ada")
  now = 2000
  assert.equal(cache.get(shows("ada")), undefined)
})

test("a request with none of the headers is not cached", () => {
  const cache = new UserCache({ cache_keys: ["authorization"] })
  const withoutKeys = new UserCache({})
  for (const one of [cache, withoutKeys]) one.set(new Headers({ accept: "any" }), user("ada"))

  assert.equal(cache.get(new Headers({ accept: "any" })), undefined)
  assert.equal(withoutKeys.get(new Headers({ accept: "any" })), undefined)
})

test("the oldest entries are removed when the cache is full", () => {
  const cache = new UserCache({ cache_keys: ["authorization"], max_size: 2 })
  for (const name of ["ada", "bob", "ada", "eve"]) cache.set(shows(name), user(name))

  const cached = ["ada", "bob", "eve"].map((name) => cache.get(shows(name))?.identity)
  assert.deepEqual(cached, ["ada", undefined, "eve"])
})
