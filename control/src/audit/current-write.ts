/**
 * The write of the current request, available anywhere in its code. Handlers do not know it, so routes that are added later
 * are audited automatically.
 */
import { AsyncLocalStorage } from "node:async_hooks"
import type { Actor, AuditedKind } from "./audit-entry.js"

export interface CurrentWrite {
  readonly workspaceId: string
  readonly actor: Actor
  readonly ip: string | undefined
  readonly action: string
  readonly path: string
  readonly requestId: string | undefined
  readonly kind: AuditedKind | undefined
  /** Known from the address, or after its creation. */
  resourceId: string | undefined
  /** By which people know the resource, where its row does not say. */
  resourceName: string | undefined
  /** Names of what changed beside the resource's row. */
  changedToo: readonly string[]
  /** A transaction with its entry has been committed. */
  isRecorded: boolean
  /** It only repeats an earlier reply, or changed nothing. */
  hasNoEffect: boolean
}

const writes = new AsyncLocalStorage<CurrentWrite>()

export const currentWrite = (): CurrentWrite | undefined => writes.getStore()

/** Runs the work of a request as one write. */
export const asWrite = <T>(write: CurrentWrite, work: () => Promise<T>): Promise<T> => writes.run(write, work)

/** Records the id of the resource that the write has created. */
export function recordCreated(body: object): void {
  const write = currentWrite()
  if (write && "id" in body && typeof body.id === "string") write.resourceId ??= body.id
}

/** Records which resource the next transaction changes, in a request that changes several. */
export function recordResource(id: string): void {
  const write = currentWrite()
  if (write) write.resourceId = id
}

/** Records by which name people know the resource, for one whose row has no name. */
export function recordName(name: string): void {
  const write = currentWrite()
  if (write) write.resourceName = name
}

/** Records names of what changes beside the resource's row, such as `secrets.API_KEY`. */
export function recordChanged(names: readonly string[]): void {
  const write = currentWrite()
  if (write) write.changedToo = names
}

/** Records that the request has no effect: it repeats a reply, or everything in it was refused. */
export function recordNoEffect(): void {
  const write = currentWrite()
  if (write) write.hasNoEffect = true
}
