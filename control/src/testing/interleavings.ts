/** Pairs of requests at the same moment, at two control planes that share a database (toolkit's testing/interleavings.ts). */
import { AsyncLocalStorage } from "node:async_hooks"
import type { TestContext } from "node:test"
import { Secret } from "@superstep/toolkit/config/settings"
import {
  BetweenStatements,
  type Interleavings,
  interleave,
  type Request,
  type TwoProcesses,
} from "@superstep/toolkit/testing/interleavings"
import type { AppOptions } from "../app.js"
import { startApi, type TestApi } from "./api.js"

export type Call = TestApi["call"]
export type TwoApis = TwoProcesses<Call>

const outsideOfRequests = AsyncLocalStorage.snapshot()

export const webhookSecret = "the installation's secret"
/** An id that nothing has. */
export const unknown = "00000000-0000-4000-8000-000000000000"

// biome-ignore lint/suspicious/noExplicitAny: of a reply of any kind
export type Keep = (reply: any) => unknown

/** @param keep  what counts of an answer that is no error; of an error its code counts */
export const request =
  <On>(
    method: string,
    path: (on: On) => string,
    { body, keep }: { body?: (on: On, by: string) => object; keep?: Keep } = {},
  ): Request<Call, On> =>
  async (call, on, by) => {
    const reply = await call(method, path(on), body && { body: body(on, by) })
    return [reply.status, reply.status < 300 ? keep?.(reply.body) : reply.body?.code]
  }

let lastName = 0
/** For the deployment of a case. */
export const nextName = () => `bot-${++lastName}`

/** As `interleave` of the toolkit. */
export async function interleaveApis<Subject>(
  t: TestContext,
  interleavings: Interleavings<TwoApis, Call, Subject>,
  ofApis: Pick<AppOptions, "consoleOrigins"> = {},
): Promise<void> {
  const options = { ...ofApis, webhookSecrets: [new Secret(webhookSecret)] }
  await using api = await startApi(options)
  const place = new BetweenStatements()
  await using outer = await startApi({ ...options, db: place.database(api.db), key: api.key })
  const first: Call = (method, path, call) =>
    place.within(() => outer.call(method, path, { ...call, headers: { "x-api-key": api.apiKey, ...call?.headers } }))
  // It is asked from within a request of the first, and must not take part in that one's entry of the audit log.
  const second: Call = (...call) => outsideOfRequests(api.call, ...call)
  const tried = await interleave(interleavings, { db: api.db, first, second, place }, { usual: 1, wide: 75 })
  t.diagnostic(`${tried} interleavings`)
}
