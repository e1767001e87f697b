import { randomUUID } from "node:crypto"
import type { NewRun } from "../runs/queries.js"

/** An ordinary run of a thread, for tests of the statement that creates it. */
export const newRun = (threadId: string): NewRun => ({
  runId: randomUUID(),
  threadId,
  threadRule: "must_exist",
  threadMetadata: "{}",
  assistantId: randomUUID(),
  graphId: "agent",
  metadata: "{}",
  kwargs: "{}",
  multitaskStrategy: "enqueue",
  isResumable: false,
  deleteThreadOnCompletion: false,
  afterSeconds: 0,
  serverId: randomUUID(),
  revisionId: null,
  canExecute: false,
  isStreamed: false,
  leaseMs: 60_000,
  caller: null,
  webhook: null,
  known: { metadata: "{}", config: "{}" },
  mostWaiting: 0,
})
