/** The log of a build: one JSON line for each line that a step printed, cleaned as stored lines are. */
import { appendFileSync } from "node:fs"
import { cleanLine } from "@superstep/toolkit/text/clean-lines"
import { type BuildLogLine, buildLevels } from "./build-request.js"

/** A line of a build's log, for whoever stores it. */
export interface BuiltLine {
  readonly message: string
  readonly level?: BuildLogLine["level"]
  readonly at?: Date
}

export type WriteLine = (message: string, level?: BuildLogLine["level"]) => void

/**
 * @param hide  removes secrets from a text
 * @returns     a writer; a line is on disk when it returns, so the log of a killed build is complete
 */
export function buildLog(file: string, hide: (text: string) => string): WriteLine {
  return (text, level = "INFO") => {
    const line: BuildLogLine = { at: new Date().toISOString(), level, message: cleanLine(text, hide) }
    appendFileSync(file, `${JSON.stringify(line)}\n`)
  }
}

/** Parses a line of `buildLog`. A line that a full disk cut short, and the one after it, are returned as they are. Pure. */
export function parseBuildLine(line: string): BuiltLine {
  try {
    const { at: text, level, message } = JSON.parse(line) as BuildLogLine
    const at = new Date(text)
    // Where a build is a pod, its own code can print such lines, too.
    const isOurs = typeof message === "string" && buildLevels.includes(level) && !Number.isNaN(at.getTime())
    return isOurs ? { at, level, message } : { message: line }
  } catch {
    return { message: line }
  }
}
