/**
 * The write that is being made for the request of this moment, wherever in its code one looks. Handlers know nothing of it:
 * so a route that is added later is audited without anybody's care.
 */
import { AsyncLocalStorage } from "node:async_hooks"
import type { AuditedKind } from "./audit-entry.js"

export interface CurrentWrite {
  readonly workspaceId: string
  readonly actor: string
  readonly keyPrefix: string
  readonly ip: string | undefined
  readonly action: string
  readonly path: string
  readonly requestId: string | undefined
  readonly kind: AuditedKind | undefined
  /** Known from the address, or once it was made. */
  resourceId: string | undefined
  /** A transaction that holds its entry has been committed. */
  isRecorded: boolean
  /** It only repeats an earlier reply, or changed nothing. */
  hasNoEffect: boolean
}

const writes = new AsyncLocalStorage<CurrentWrite>()

export const currentWrite = (): CurrentWrite | undefined => writes.getStore()

/** Runs what a request does as one write. */
export const asWrite = <T>(write: CurrentWrite, work: () => Promise<T>): Promise<T> => writes.run(write, work)

/** Tells which resource the write has made. */
export function noteCreated(body: object): void {
  const write = currentWrite()
  if (write && "id" in body && typeof body.id === "string") write.resourceId ??= body.id
}

/** Tells which resource the next transaction changes, where a request changes several. */
export function noteResource(id: string): void {
  const write = currentWrite()
  if (write) write.resourceId = id
}

/** Tells that the request has no effect: it repeats a reply, or all that it asked for was refused. */
export function noteNoEffect(): void {
  const write = currentWrite()
  if (write) write.hasNoEffect = true
}
