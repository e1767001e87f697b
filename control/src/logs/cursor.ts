/** A reader's position in a log: the last line that it got, and which log that was. Pure. */
import { createHash } from "node:crypto"
import { InvalidInput } from "@superstep/toolkit/errors/errors"
import type { LogStream } from "./log-line.js"

/** Identifies a log. */
export interface LogScope {
  readonly deploymentId: string
  /** Absent: all revisions of the deployment. */
  readonly revisionId?: string | undefined
  /** Absent: build and deploy together. */
  readonly stream?: LogStream | undefined
}

/** Identifies a log, so that a cursor of another log is refused. */
const tagOf = ({ deploymentId, revisionId, stream }: LogScope): string =>
  createHash("sha256")
    .update(`${deploymentId}/${revisionId ?? ""}/${stream ?? ""}`.toLowerCase())
    .digest("base64url")
    .slice(0, 8)

export const cursorAfter = (scope: LogScope, lineId: number): string => `${lineId}.${tagOf(scope)}`

/**
 * @param path  path of the parameter, for the error
 * @returns     the id of the last line that the reader has
 * @throws InvalidInput  for anything but a cursor of this very log
 */
export function lineOfCursor(scope: LogScope, cursor: string, path: readonly string[]): number {
  const [, line, tag] = /^(\d{1,15})\.([\w-]{8})$/.exec(cursor) ?? []
  if (line !== undefined && tag === tagOf(scope)) return Number(line)
  const message =
    tag === undefined ? "expected a cursor from an earlier reply" : "belongs to another log: start without it"
  throw new InvalidInput([{ path, message, type: "value_error" }])
}
