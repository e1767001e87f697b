/** The log of a build: one JSON line for each line that a step printed, without colours and without secrets. */
import { appendFileSync } from "node:fs"
import { stripVTControlCharacters } from "node:util"
import type { BuildLogLine } from "./build-request.js"

// A minified file on one line must not fill the log.
const maxLineLength = 16_000
// Short values such as "1" or "true" would blacken the whole log.
const shortestSecret = 6

export type WriteLine = (message: string, level?: BuildLogLine["level"]) => void

/**
 * @param secrets  values that are shown as `[secret]`
 * @returns        a writer; a line is on disk when it returns, so a killed build has told all it printed
 */
export function buildLog(file: string, secrets: readonly string[]): WriteLine {
  const hidden = secrets.filter((secret) => secret.length >= shortestSecret)
  return (text, level = "INFO") => {
    const plain = stripVTControlCharacters(text).slice(0, maxLineLength)
    const message = hidden.reduce((shown, secret) => shown.replaceAll(secret, "[secret]"), plain)
    const line: BuildLogLine = { at: new Date().toISOString(), level, message }
    appendFileSync(file, `${JSON.stringify(line)}\n`)
  }
}
