/** Error code and message of a step that failed. Pure. */
import type { BuildCode } from "./faults/build-failed.js"
import type { StepEnd } from "./run-step.js"

export interface StepLimits {
  readonly limitMs: number
  readonly silenceMs: number
}

/** The text after the name of the step: "failed with exit code 1". */
export function wordsFor(end: StepEnd, { limitMs, silenceMs }: StepLimits): string {
  switch (end.kind) {
    case "exited":
      return `failed with exit code ${end.code}`
    case "killed":
      return `was killed by ${end.signal}`
    case "timed out":
      return `took longer than ${limitMs / 1000} s`
    case "silent":
      return `printed nothing for ${silenceMs / 1000} s`
    case "memory":
      return `used ${end.usedMb} MB of memory; the limit of a build is ${end.limitMb} MB`
    case "disk":
      return `used ${end.usedMb} MB of disk space; the limit of a build is ${end.limitMb} MB`
    case "not started":
      return `could not be started: ${end.message}`
  }
}

/**
 * @param otherwise  the code when the step itself is at fault: it exited, or a signal ended it that is none of the limits'
 * @returns          `internal`, which is tried again, when it could not be started: it is the machine that starts it
 */
export function codeFor(end: StepEnd, otherwise: BuildCode): BuildCode {
  switch (end.kind) {
    case "timed out":
    case "silent":
      return "build_timeout"
    case "memory":
      return "build_oom"
    case "disk":
      return "build_too_big"
    case "not started":
      return "internal"
    case "exited":
    case "killed":
      return otherwise
  }
}

/** Recognizes Node's own message about a full heap, whatever exit code npm returns. */
export const saysHeapIsFull = (line: string): boolean => line.includes("JavaScript heap out of memory")
