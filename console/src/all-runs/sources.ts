/** The agents of the platform as sources of one list of runs: some are asked at a time, and one that does not answer in time is given up. */
import { useMemo } from "react"
import { deployedAgents } from "../agent/deployed-agents.js"
import { limited } from "../frame/limited.js"
import type { Deployment } from "../platform/types.js"
import { usePlatform } from "../platform/use-platform.js"
import type { RunSource } from "../runs/merged.js"

// A browser sends about as many requests to one address at a time.
const mostAtOnce = 6
// An agent that is slower is named, and asked again.
const answerMs = 10_000

/** @param deployments  the same array while they are the same */
export function useSources(deployments: readonly Deployment[]): readonly RunSource[] {
  const { api } = usePlatform()
  const ask = useMemo(() => {
    const open = deployedAgents(api)
    const inTurn = limited(mostAtOnce)
    return (id: string): RunSource["fetch"] =>
      (path, init) =>
        inTurn(() => answerOf(() => open(id), path, init))
  }, [api])
  return useMemo(
    () => deployments.map(({ id, name }) => ({ id, name, base: `/deployments/${id}/agent`, fetch: ask(id) })),
    [ask, deployments],
  )
}

/** @throws Error  the agent has not answered in time */
async function answerOf(
  open: () => Promise<Pick<RunSource, "fetch">>,
  path: string,
  init: RequestInit = {},
): Promise<Response> {
  init.signal?.throwIfAborted()
  const late = AbortSignal.timeout(answerMs)
  const signal = init.signal ? AbortSignal.any([init.signal, late]) : late
  try {
    return await (await open()).fetch(path, { ...init, signal })
  } catch (error) {
    throw late.aborted ? new Error(`It has not answered within ${answerMs / 1000} s.`) : error
  }
}
