/**
 * Every route of the API's own document is asked for what nobody should send: it is refused in words, with 4xx, and
 * nothing is left of it. Routes that come later are covered by being in the document.
 */
import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import type { Reply } from "@superstep/control/testing/api"
import { oddQueryValues, oddSegments } from "../testing/malformed.js"
import { type Asked, askAll, bodyFor, forbiddenBodies, pathOf, shown } from "../testing/malformed-requests.js"
import type { Route } from "../testing/openapi-routes.js"
import { dump, type Furnished, furnish } from "./furnished.js"

let it: Furnished
before(async () => {
  it = await furnish()
})
after(() => it[Symbol.asyncDispose]())

/** What a route can only refuse. A `least` body may still be refused; what matters is that it is no 5xx. */
function* oddRequests(route: Route): Generator<Asked> {
  const { method } = route
  for (const [name] of route.path.matchAll(/\{\w+\}/g)) {
    // `null` and `NaN` are good names of secrets.
    const isTaken = name === "{name}" ? (segment: string) => /^\w+$/.test(segment) : () => false
    for (const segment of oddSegments.filter((one) => !isTaken(one))) {
      yield { method, path: pathOf(route.path.replace(name, segment), it.ids), ...bodyFor(route) }
    }
  }
  // Empty texts count as absent (control-plane §1.4), and no schema says so.
  for (const body of forbiddenBodies(route, (value) => value === "")) {
    if (typeof body === "string") yield { method, path: pathOf(route.path, it.ids), body }
  }
}

const isRefusal = ({ status, body }: Reply): boolean =>
  status >= 400 && status < 500 && (typeof body?.detail === "string" || Array.isArray(body?.detail))

const ask = ({ method, path, body }: Asked) =>
  it.api.call(method, path, { ...(body !== undefined && { text: String(body) }) })

test("what no route takes is refused in words, and changes nothing", async (t) => {
  assert.ok(it.routes.length > 25)
  for (const route of it.routes) {
    await t.test(`${route.method} ${route.path}`, async () => {
      const earlier = await dump(it.api)
      const wrong: string[] = []

      await askAll(oddRequests(route), ask, (asked, reply) => {
        if (!isRefusal(reply)) wrong.push(shown(asked, reply))
      })

      assert.deepEqual(wrong, [])
      assert.deepEqual(await dump(it.api), earlier)
    })
  }
})

test("no query of a read is too odd to answer", async () => {
  const wrong: string[] = []
  // A stream has no end to wait for.
  for (const route of it.routes.filter(({ method, path }) => method === "GET" && !path.endsWith("/stream"))) {
    const path = pathOf(route.path, it.ids)
    const requests = route.parameters
      .filter((parameter) => parameter.in === "query")
      .flatMap(({ name }) => oddQueryValues.map((value) => ({ method: "GET", path: `${path}?${name}=${value}` })))

    await askAll(requests.values(), ask, (asked, reply) => {
      if (reply.status >= 500) wrong.push(shown(asked, reply))
    })
  }
  assert.deepEqual(wrong, [])
})
