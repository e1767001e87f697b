/** Reads the newest runs of many agents, each alone: one that does not answer hides no other. */
import { keepPreviousData, useQueries } from "@tanstack/react-query"
import { useMemo } from "react"
import { deployedAgents } from "../agent/deployed-agents.js"
import type { Deployment } from "../platform/types.js"
import { usePlatform } from "../platform/use-platform.js"
import type { Filters } from "../runs/filters.js"
import { readRunPage } from "../runs/run-pages.js"
import { type AgentPage, type Merged, merged } from "./merged.js"

// As many requests at a time as this page may cause.
export const mostAgents = 50
const refreshMs = 10_000
// An agent that is slower is named, and asked again.
const answerMs = 10_000

export interface AllRuns extends Merged {
  /** Whether each agent has answered, or failed to. */
  readonly isRead: boolean
  readonly failed: readonly { readonly deployment: Deployment; readonly error: unknown }[]
}

/** @param deployments  those to ask, at most `mostAgents` */
export function useAllRuns(deployments: readonly Deployment[], filters: Filters): AllRuns {
  const { api } = usePlatform()
  const agents = useMemo(() => deployedAgents(api), [api])
  const results = useQueries({
    queries: deployments.map(({ id }) => ({
      queryKey: ["all-runs", id, filters],
      queryFn: async ({ signal }: { signal: AbortSignal }) => {
        const late = AbortSignal.timeout(answerMs)
        try {
          return await readRunPage(await agents(id), filters, null, AbortSignal.any([signal, late]))
        } catch (error) {
          throw late.aborted ? new Error(`It has not answered within ${answerMs / 1000} s.`) : error
        }
      },
      refetchInterval: refreshMs,
      retry: false,
      placeholderData: keepPreviousData,
    })),
  })
  const pages = deployments.flatMap(({ id, name }, index): AgentPage[] => {
    const page = results[index]?.data
    return page ? [{ deploymentId: id, name, page }] : []
  })
  return {
    ...merged(pages),
    isRead: results.every(({ isPending }) => !isPending),
    failed: deployments.flatMap((deployment, index) => {
      const error = results[index]?.error
      return error ? [{ deployment, error }] : []
    }),
  }
}
