/** The agents of the platform as sources of one list of runs. */
import { useMemo } from "react"
import { askInTurn } from "../agent/ask-in-turn.js"
import { deployedAgents } from "../agent/deployed-agents.js"
import type { Deployment } from "../platform/types.js"
import { usePlatform } from "../platform/use-platform.js"
import type { RunSource } from "../runs/merged.js"

/** @param deployments  the same array while they are the same */
export function useSources(deployments: readonly Deployment[]): readonly RunSource[] {
  const { api } = usePlatform()
  const ask = useMemo(() => {
    const open = deployedAgents(api)
    return (id: string): RunSource["fetch"] =>
      (path, init) =>
        askInTurn(async (signal) => (await open(id)).fetch(path, { ...init, signal }), init?.signal)
  }, [api])
  return useMemo(
    () => deployments.map(({ id, name }) => ({ id, name, base: `/deployments/${id}/agent`, fetch: ask(id) })),
    [ask, deployments],
  )
}
