/** The SDK's own `Auth` and its exceptions, as a project uses them. */
import assert from "node:assert/strict"
import { createRequire } from "node:module"
import { test } from "node:test"
import { Auth, HTTPException } from "@langchain/langgraph-sdk/auth"
import { authModule, type Question } from "./auth-module.js"

const request = {
  method: "POST",
  url: "http://localhost/threads?a=1",
  headers: [["x-user", "ada"]] as [string, string][],
}
const ada = { identity: "ada", display_name: "ada", is_authenticated: true, permissions: ["agents"] }

const moduleOf = (auth: unknown) => authModule(auth, "./auth.ts:auth")
const answering = (answer: unknown) => moduleOf(new Auth().authenticate(() => answer as never))
const throwing = (error: unknown) =>
  moduleOf(
    new Auth().authenticate(() => {
      throw error
    }),
  )

const question = (over: Partial<Question> = {}): Question => ({
  event: "threads:create",
  handler: "threads",
  value: { metadata: {} },
  user: ada,
  ...over,
})

test("an export that is not an Auth, or has no authenticate handler, does not load", () => {
  for (const exported of [undefined, {}, () => ada, "auth"]) assert.throws(() => moduleOf(exported), /is not an Auth/)
  assert.throws(() => moduleOf(new Auth().on("*", () => true)), /has no authenticate handler/)
})

test("a string or an object becomes a user, with defaults for missing fields", async () => {
  const seen: Request[] = []
  const auth = new Auth().authenticate((asked) => {
    seen.push(asked)
    return "ada"
  })

  assert.deepEqual(await moduleOf(auth).authenticate(request), { user: { ...ada, permissions: [] } })
  assert.deepEqual(
    [seen[0]?.method, seen[0]?.url, seen[0]?.headers.get("X-User")],
    ["POST", "http://localhost/threads?a=1", "ada"],
  )
  const told = { identity: "ada", display_name: "Ada", is_authenticated: false, permissions: ["a"], team: { id: 7 } }
  assert.deepEqual(await answering(told).authenticate(request), { user: told })
  for (const answer of [undefined, null, 42, true, ["ada"], { id: "ada" }, { identity: 7 }]) {
    await assert.rejects(answering(answer).authenticate(request), /authenticate returned/)
  }
})

test("only an HTTPException rejects a request, from any copy of the SDK", async () => {
  const other = createRequire(import.meta.url)("@langchain/langgraph-sdk/auth") as {
    HTTPException: typeof HTTPException
  }
  for (const Exception of [HTTPException, other.HTTPException]) {
    const error = new Exception(401, { message: "Who?", headers: { "www-authenticate": "Bearer" } })

    assert.deepEqual(await throwing(error).authenticate(request), {
      denial: { status: 401, message: "Who?", headers: { "www-authenticate": "Bearer" } },
    })
  }
  // An HTTP client's error has a status and headers too: those of another server's response.
  const foreign = Object.assign(new Error("upstream said 404"), { status: 404, headers: {} })
  await assert.rejects(throwing(foreign).authenticate(request), /upstream said 404/)
  await assert.rejects(throwing("a text").authenticate(request))
})

test("a handler allows, refuses or filters, and changes the request's value", async () => {
  for (const [answer, filter] of [
    [undefined, undefined],
    [null, undefined],
    [true, undefined],
    [{ owner: "ada" }, { owner: "ada" }],
  ]) {
    const auth = new Auth()
      .authenticate(() => "ada")
      .on("threads", ({ value, user, permissions, event, resource, action }) => {
        Object.assign(value, { metadata: { owner: user.identity, told: [permissions, event, resource, action] } })
        return answer as never
      })
    const told = [["agents"], "threads:create", "threads", "create"]

    const value = { metadata: { owner: "ada", told } }
    assert.deepEqual(await moduleOf(auth).authorize(question()), { value, filter })
  }
  const refusing = moduleOf(new Auth().authenticate(() => "ada").on("threads", () => false))
  assert.deepEqual(await refusing.authorize(question()), {
    denial: { status: 403, message: "Forbidden", headers: {} },
  })
})

test("an invalid result is an error, in particular a filter that would match more after conversion to JSON", async () => {
  const more = [{ owner: undefined }, { $or: [{ owner: () => 1 }] }, { n: Number.NaN }]
  for (const answer of [42, "owner", ["owner"], ...more]) {
    const auth = new Auth().authenticate(() => "ada").on("threads", () => answer as never)

    await assert.rejects(moduleOf(auth).authorize(question()), /handler for "threads"/)
  }
  await assert.rejects(moduleOf(new Auth().authenticate(() => "ada")).authorize(question()), /no handler for "threads"/)
})
