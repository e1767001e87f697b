/** The log of a build's container: JSON lines with numbers, so that whoever reads it again knows what is new. Pure but for the clock. */

import { cleanLine } from "@superstep/toolkit/text/clean-lines"
import { z } from "zod"
import type { BuiltLine, WriteLine } from "../build-log.js"
import { buildLevels } from "../build-request.js"
import { type Part, parts } from "./job-places.js"

const jobLine = z.object({
  n: z.number().int().positive(),
  at: z.iso.datetime(),
  level: z.enum(buildLevels),
  message: z.string(),
})
export type JobLine = z.output<typeof jobLine>

/** @param hide  removes secrets from a text */
export function lineWriter(print: (line: string) => void, hide: (text: string) => string): WriteLine {
  let n = 0
  return (text, level = "INFO") => {
    n++
    const line: JobLine = { n, at: new Date().toISOString(), level, message: cleanLine(text, hide) }
    print(`${JSON.stringify(line)}\n`)
  }
}

/** @returns  undefined for what something else has printed, such as Node when it crashes: that is told with the end of the build */
export function parseJobLine(text: string): JobLine | undefined {
  try {
    return jobLine.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}

export const toLogLine = ({ at, level, message }: JobLine): BuiltLine => ({ at: new Date(at), level, message })

// More lines than a container can print within its limits.
const linesOfPart = 1e9

/** A place in the logs of all containers as one number: the container, and the last line that was read of it. */
export interface LogPlace {
  readonly part: number
  readonly n: number
}

export const toCursor = ({ part, n }: LogPlace): number => part * linesOfPart + n

export const toPlace = (cursor: number): LogPlace => ({
  part: Math.floor(cursor / linesOfPart),
  n: cursor % linesOfPart,
})

export const partsFrom = ({ part }: LogPlace): readonly Part[] => parts.slice(part)
