/** Operations on runs with the caller of a server without access rules. */
import { until } from "@superstep/toolkit/testing/until"
import { anyone } from "../auth/caller.js"
import type { Subscriber } from "../events/topic.js"
import * as creation from "../runs/creation.js"
import * as operations from "../runs/operations.js"
import { newRun } from "../runs/schema.js"
import { newThread } from "./creations.js"
import type { TestServer } from "./test-server.js"

const asAnyone =
  <Parts, Request extends object, Result>(operation: (parts: Parts, request: Request) => Promise<Result>) =>
  (parts: Parts, request: Omit<Request, "caller">): Promise<Result> =>
    operation(parts, { caller: anyone, ...request } as unknown as Request)

export const createRun = asAnyone(creation.createRun)
export const getRun = asAnyone(operations.getRun)
export const joinRun = asAnyone(operations.joinRun)
export const cancelRun = asAnyone(operations.cancelRun)
export { waitForEnd } from "../runs/operations.js"

interface AddedRun {
  /** The thread of the run; by default a new one. */
  readonly on?: string
  readonly subscriber?: Subscriber
  /** A field of the request. */
  readonly [field: string]: unknown
}

/** Creates a run of the graph `agent`. */
export async function addRun(server: TestServer, { on, subscriber, ...fields }: AddedRun = {}) {
  const threadId = on ?? (await newThread(server))
  const body = newRun.parse({ assistant_id: "agent", input: { n: 1 }, ...fields })
  const { run_id: runId } = await createRun(server, { threadId, body, ...(subscriber && { subscriber }) })
  return { threadId, runId }
}

/** The scripted run of an attempt, once a worker of the server has it. */
export const attemptOf = (server: TestServer, runId: string, attempt = 1) =>
  until(() => server.workers.started.find(({ order }) => order.runId === runId && order.attempt === attempt), {
    what: `attempt ${attempt} of run ${runId} starts`,
  })
