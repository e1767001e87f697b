/** What is told of a step that did not end well: which code, and which words. Pure. */
import type { ErrorCode } from "../revisions/revision.js"
import type { StepEnd } from "./run-step.js"

export interface StepLimits {
  readonly limitMs: number
  readonly silenceMs: number
}

/** Follows the name of the step: "ended with exit code 1". */
export function wordsFor(end: StepEnd, { limitMs, silenceMs }: StepLimits): string {
  switch (end.kind) {
    case "exited":
      return `ended with exit code ${end.code}`
    case "killed":
      return `was ended by ${end.signal}`
    case "timed out":
      return `took longer than ${limitMs / 1000} s`
    case "silent":
      return `printed nothing for ${silenceMs / 1000} s`
    case "memory":
      return `used ${end.usedMb} MB of memory, and a build may use ${end.limitMb} MB`
    case "disk":
      return `filled ${end.usedMb} MB of disk, and a build may use ${end.limitMb} MB`
    case "not started":
      return `could not be started: ${end.message}`
  }
}

/** @param otherwise  for what the step itself is to blame for */
export function codeFor(end: StepEnd, otherwise: ErrorCode): ErrorCode {
  switch (end.kind) {
    case "timed out":
    case "silent":
      return "build_timeout"
    case "memory":
      return "build_oom"
    case "disk":
      return "build_too_big"
    default:
      return otherwise
  }
}

/** Node's own words when its heap is full, whatever exit code npm makes of it. */
export const saysHeapIsFull = (line: string): boolean => line.includes("JavaScript heap out of memory")

// `OPENAI_API_KEY`, not `ENOENT`: at least two words.
const variableName = /\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b/g
const saysItIsMissing =
  /missing|not set|not found|not defined|undefined|unset|required|must be (?:set|provided)|provide|empty|environment variable/i

/**
 * Environment variables that a graph complains of and that the deployment does not have: most fail to load for want of
 * a key.
 */
export function missingVariables(message: string, given: readonly string[]): string[] {
  if (!saysItIsMissing.test(message)) return []
  const named = message.match(variableName) ?? []
  return [...new Set(named)].filter((name) => !given.includes(name) && !/^(ERR|MODULE|UV)_/.test(name))
}
