/** For tests: people who sign in to the console. */
import assert from "node:assert/strict"
import type { Call, Reply, TestApi } from "../../testing/api.js"

/** Where the console of `startApi` is served. */
export const origin = "http://localhost"

/** The cookie of a reply, as browsers return it. */
export const cookieOf = ({ headers }: Reply): string => {
  const [pair = ""] = (headers.get("set-cookie") ?? "").split(";")
  assert.match(pair, /^superstep_session=[\w-]{43}$/)
  return pair
}

/** Signs in with an API key. @returns  the cookie */
export const signIn = async (api: TestApi, apiKey: string): Promise<string> => {
  const reply = await api.call("POST", "/v2/console/sessions", {
    body: { api_key: apiKey },
    headers: { "x-api-key": "", origin },
  })
  assert.equal(reply.status, 201, reply.text)
  return cookieOf(reply)
}

/** What a page of the console sends. */
export const fromPage = (cookie: string, call: Call = {}): Call => ({
  ...call,
  headers: { "x-api-key": "", cookie, origin, ...call.headers },
})
