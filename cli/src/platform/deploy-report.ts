/** The progress of a deploy: sentences for a person, or one JSON object per line for a program. */

import type { Output } from "../output/output.js"
import { seconds } from "../output/progress.js"
import { isFinal, type Revision } from "./deployments.js"

export interface DeployReport {
  /** A step is done. */
  step(message: string): void
  /** A warning for the person who deploys. */
  warn(message: string): void
  status(revision: Revision): void
  /** A line of the build's log. */
  log(line: LogLine): void
  result(outcome: Outcome): void
}

export interface LogLine {
  readonly id: string
  readonly timestamp: string
  readonly level: string
  readonly message: string
  /** The run that the line belongs to. */
  readonly run_id?: string | null
}

export interface Outcome {
  readonly deployment_id: string
  readonly revision_id: string | null
  readonly status: string | null
  readonly url: string | null
}

/** Events have the names that the official CLI prints with `--json` (control-plane §2.2). */
export const jsonReport = (out: Output): DeployReport => {
  const emit = (event: string, fields: object) => out.line(JSON.stringify({ event, ...fields }))
  return {
    step: (message) => emit("step", { message }),
    warn: (message) => emit("warn", { message }),
    status: ({ id, status, error_code, status_message }) =>
      emit("status_change", { revision_id: id, status, error_code, status_message }),
    log: (line) => emit("log", line),
    result: (outcome) => emit("result", outcome),
  }
}

/** Results go to `out`, everything else to `err`. */
export function wordsReport(out: Output, err: Output): DeployReport {
  const startedAt = performance.now()
  return {
    step: (message) => err.line(`  ${message}`),
    warn: (message) => err.line(`  ${err.style("yellow", "!")} ${message}`),
    status: ({ status, status_message: message }) => {
      const time = err.style("dim", `  ${seconds(performance.now() - startedAt)}`)
      // The message of a revision that failed is the command's error.
      const why = message === null || isFinal(status) ? "" : `  ${message}`
      err.line(`  ${colored(err, status)}${time}${why}`)
    },
    log: ({ message }) => {
      for (const line of message.split("\n")) err.line(err.style("dim", `  │ ${line}`))
    },
    result: ({ status, url }) => {
      if (url !== null && (status === "DEPLOYED" || status === null)) out.line(url)
    },
  }
}

function colored(err: Output, status: string): string {
  if (status === "DEPLOYED") return err.style("green", status)
  return status.includes("FAILED") ? err.style("red", status) : status
}
