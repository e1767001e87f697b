/** Decides which faults of a stage may pass. Pure. */
import { BuildFailed } from "@superstep/builder/faults/build-failed"
import { ImageRefused, TooManyDeployments } from "@superstep/machines/port/errors"
import { DatabaseUnavailable } from "@superstep/toolkit/db/unavailable"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { diskIsFull, saysDiskIsFull } from "@superstep/toolkit/files/disk-room"
import type { ErrorCode } from "../revisions/revision.js"
import { SourceFailed } from "../sources/port.js"

/** A fault of the user that a stage finds itself: the revision's unit does not start or is not healthy, or the workspace uses too much disk. */
export class DeployFailed extends KnownError {
  readonly code: ErrorCode
  constructor(code: ErrorCode, message: string) {
    super(message)
    this.code = code
  }
}

/** What to do after a stage threw an error. */
export type Verdict =
  | { readonly kind: "retry"; readonly delayMs: number; readonly why: string }
  | { readonly kind: "fail"; readonly code: ErrorCode; readonly message: string }

// Three more tries, with growing pauses (control-plane §6.3, rule 4).
const retryDelaysMs = [5000, 20_000, 60_000]

// A database, an engine, a cluster or a registry that is restarted or moved is away for minutes.
const patienceMs = 10 * 60_000
const laterDelayMs = 60_000

/** The failed tries of a revision's stage so far, and how long ago the first of them failed. */
export interface Tries {
  readonly stage_attempt: number
  readonly failing_ms: number
}

/**
 * A user's fault fails at once: the same input fails the same way. A fault of a git host and a full disk are tried three more times: the
 * input may be at fault too, and time alone frees no disk. A host that asks for a longer pause gets it. Anything else is the platform's own, whatever it is (its machine, its database, a
 * bug), and is tried again for ten minutes.
 */
export function judge(error: unknown, { stage_attempt: attempts, failing_ms: failingMs }: Tries): Verdict {
  const words = error instanceof Error ? error.message : String(error)
  const known =
    error instanceof BuildFailed ||
    error instanceof ImageRefused ||
    error instanceof DeployFailed ||
    error instanceof SourceFailed
  if (known && !(error instanceof SourceFailed && error.isTransient)) {
    return { kind: "fail", code: error.code, message: words }
  }
  if (error instanceof TooManyDeployments) return { kind: "fail", code: "capacity", message: words }
  const isFull = saysDiskIsFull(words)
  const message = isFull ? diskIsFull : words
  const isOwnFault = !isFull && !(error instanceof SourceFailed)
  const usualMs = retryDelaysMs[attempts] ?? (isOwnFault && failingMs < patienceMs ? laterDelayMs : undefined)
  const delayMs = usualMs && Math.max(usualMs, Math.ceil(error instanceof SourceFailed ? error.askedMs : 0))
  if (delayMs !== undefined)
    return { kind: "retry", delayMs, why: `${message.replace(/\.$/, "")}; trying again in ${delayMs / 1000} s` }
  return { kind: "fail", code: isFull ? "disk_full" : codeOf(error), message }
}

function codeOf(error: unknown): ErrorCode {
  if (error instanceof SourceFailed) return error.code
  return error instanceof DatabaseUnavailable ? "db_unreachable" : "internal"
}
