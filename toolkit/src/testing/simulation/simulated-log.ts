/** What a simulation tells: each line is an event, and an error in a program's log that no planned fault explains is a fault of ours. */
import type { Log } from "../../log/log.js"
import type { Clock } from "../../time/clock.js"
import type { Life } from "./life.js"

export type Tell = (what: string, facts?: string) => void

/** Begins each line with the simulated seconds, and shows ids by the order in which they are told: those of two runs of a seed are the same. */
export function teller(clock: Clock, print: (line: string) => void): Tell {
  const named = shortNames()
  return (what, facts = "") =>
    print(`${(clock.now() / 1000).toFixed(3).padStart(9)} ${named(`${what} ${facts}`).trimEnd()}`)
}

export interface SimulatedLogOptions {
  readonly tell: Tell
  readonly life: Life
  /** Whether planned faults explain an error. */
  readonly isPlanned: (err: unknown) => boolean
  readonly onProblem: (problem: string) => void
}

/** The log of one program. */
export function simulatedLog({ tell, life, isPlanned, onProblem }: SimulatedLogOptions): Log {
  const write = (level: string) => (facts: Record<string, unknown>, message: string) => {
    if (life.isOver) return
    const { err, ...others } = facts
    const words = err instanceof Error ? `${err.name}: ${err.message}` : ""
    tell(`${level} ${message}`, `${JSON.stringify(others)} ${words}`)
    if (err !== undefined && !isPlanned(err)) onProblem(`"${message}": ${err instanceof Error ? err.stack : err}`)
  }
  const levels = Object.fromEntries(["info", "warn", "error", "fatal"].map((level) => [level, write(level)]))
  return { ...levels, debug: () => undefined, trace: () => undefined } as unknown as Log
}

function shortNames(): (text: string) => string {
  const names = new Map<string, string>()
  return (text) =>
    text.replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (id) => {
      const name = names.get(id) ?? `#${names.size + 1}`
      names.set(id, name)
      return name
    })
}
