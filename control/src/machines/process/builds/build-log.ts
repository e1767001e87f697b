/** The log of a build: one JSON line for each line that a step printed, cleaned as stored lines are. */
import { appendFileSync } from "node:fs"
import { cleanLine } from "@superstep/toolkit/text/clean-lines"
import { logLevels, type NewLogLine } from "../../../logs/log-line.js"
import type { BuildLogLine } from "./build-request.js"

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
export function parseBuildLine(line: string): NewLogLine {
  try {
    const { at: text, level, message } = JSON.parse(line) as BuildLogLine
    const at = new Date(text)
    // Where a build is a pod, its own code can print such lines, too.
    const isOurs = typeof message === "string" && logLevels.includes(level) && !Number.isNaN(at.getTime())
    return isOurs ? { at, level, message } : { message: line }
  } catch {
    return { message: line }
  }
}
