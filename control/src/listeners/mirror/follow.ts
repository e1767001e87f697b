/**
 * Makes this installation a listener: it mirrors the deployments that a control plane assigns to it, and reports them. Two loops, which
 * only call out. While the control plane is away, the planner here goes on with what is mirrored. Stops with its owner; calls
 * under way end.
 */
import { pause } from "@superstep/toolkit/exec/pause"
import { repeated } from "@superstep/toolkit/exec/repeated"
import { logsChannel } from "../../logs/queries.js"
import type { PipelineContext } from "../../planner/context.js"
import { CentralFailed, callsTo } from "./central.js"
import { Reports } from "./report-loop.js"
import type { Central } from "./settings.js"
import { Work } from "./work-loop.js"

// A stage of a deploy lasts longer, and a client polls every few seconds.
const reportEveryMs = 1000
// As long as a restart of a control plane takes.
const retryMs = 3000

interface FollowOptions {
  readonly central: Central | undefined
  readonly caller: { readonly homeId: string; readonly version: string }
  readonly agentsUrl: string
}

export interface Following {
  /** Resolves when neither loop runs any more. */
  stop(): Promise<void>
}

/** @returns  undefined when this installation is no listener */
export async function startFollowing(
  { db, key, log }: PipelineContext,
  { central, caller, agentsUrl }: FollowOptions,
): Promise<Following | undefined> {
  if (!central) return undefined
  const stopping = new AbortController()
  const { signal } = stopping
  const calls = callsTo(central, caller, signal)
  const work = new Work({ db, key, log }, calls)
  const reports = new Reports(db, calls, agentsUrl)
  let problem: string | undefined
  const attempt = async (step: () => Promise<boolean | undefined>) => {
    try {
      const isDone = await step()
      if (problem !== undefined) log.info({ url: central.url }, "the control plane answers again")
      problem = undefined
      return isDone
    } catch (err) {
      if (signal.aborted) return false
      const words = err instanceof Error ? err.message : String(err)
      const what =
        err instanceof CentralFailed ? "the control plane of this listener fails; agents go on" : "following failed"
      if (words !== problem) log.warn({ err }, what)
      problem = words
      return false
    }
  }
  const working = (async () => {
    while (!signal.aborted) if (!(await attempt(() => work.next()))) await pause(retryMs, signal)
  })()
  const reporting = repeated(async () => {
    const isDone = await attempt(async () => {
      await reports.send()
      return true
    })
    if (!isDone) await pause(retryMs, signal)
  }, reportEveryMs)
  const lines = await db.listen(
    logsChannel,
    (deploymentId) => reports.noteLines(deploymentId),
    () => reports.noteLines(),
  )
  reporting.wake()
  log.info({ url: central.url }, "this installation is a listener")
  return {
    stop: async () => {
      stopping.abort()
      await lines.close()
      await Promise.all([working, reporting.stop()])
    },
  }
}
