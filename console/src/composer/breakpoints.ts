/** Breakpoints: nodes of the outermost graph that runs of this page stop before or after. Pure. */
import { createContext } from "react"
import type { RunOptions, RunOptionsState } from "./run-options.js"

export type When = "before" | "after"

export interface Breakpoint {
  readonly node: string
  readonly when: When
  readonly isSet: boolean
}

export const breakpointsOf = ({ breakBefore, breakAfter }: RunOptions, node: string): When[] => [
  ...(breakBefore.includes(node) ? (["before"] as const) : []),
  ...(breakAfter.includes(node) ? (["after"] as const) : []),
]

/** @returns the change of the options */
export function withBreakpoint(
  { breakBefore, breakAfter }: RunOptions,
  { node, when, isSet }: Breakpoint,
): Partial<RunOptions> {
  const changed = (nodes: readonly string[]) => [...nodes.filter((each) => each !== node), ...(isSet ? [node] : [])]
  return when === "before" ? { breakBefore: changed(breakBefore) } : { breakAfter: changed(breakAfter) }
}

/** Nodes of graphs within nodes have none: LangGraph stops only at nodes of the graph that was asked for. */
export const canBreakAt = (nodeId: string): boolean => !nodeId.includes(":") && !nodeId.startsWith("__")

/** How the nodes of the drawing get at the options; undefined where nothing can be set. */
export const BreakpointContext = createContext<RunOptionsState | undefined>(undefined)
