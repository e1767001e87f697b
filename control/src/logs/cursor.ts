/** The place in a log that a reader has come to: the last line it was given, and which log that was. Pure. */
import { createHash } from "node:crypto"
import { InvalidInput } from "@superstep/toolkit/errors/errors"
import type { LogStream } from "./log-line.js"

/** Which log is read. */
export interface LogScope {
  readonly deploymentId: string
  /** All revisions of the deployment when absent. */
  readonly revisionId?: string | undefined
  /** Build and deploy together when absent. */
  readonly stream?: LogStream | undefined
}

/** Tells one log from another, so that a cursor is refused where it means nothing. */
const tagOf = ({ deploymentId, revisionId, stream }: LogScope): string =>
  createHash("sha256")
    .update(`${deploymentId}/${revisionId ?? ""}/${stream ?? ""}`.toLowerCase())
    .digest("base64url")
    .slice(0, 8)

export const cursorAfter = (scope: LogScope, lineId: number): string => `${lineId}.${tagOf(scope)}`

/**
 * @param path  of the parameter, for the error
 * @returns     the id of the last line that the reader has
 * @throws InvalidInput  for anything but a cursor of this very log
 */
export function lineOfCursor(scope: LogScope, cursor: string, path: readonly string[]): number {
  const [, line, tag] = /^(\d{1,15})\.([\w-]{8})$/.exec(cursor) ?? []
  if (line !== undefined && tag === tagOf(scope)) return Number(line)
  const message = tag === undefined ? "expected what an earlier reply gave" : "belongs to another log: begin without it"
  throw new InvalidInput([{ path, message, type: "value_error" }])
}
