/**
 * Objects of one kind in a namespace, kept by a list and a watch: what the API server has is read here, without asking it.
 *
 * W1 A read shows what this process has written before.
 * W2 Once it is noticed that the server does not answer, nothing is known: reads and waits fail, and show nothing of before. A server that only
 *    falls silent is noticed within 90 s (`silentMs`); until then reads show what it last said.
 * W3 A read or a wait makes no request, however often and however long. One list and one watch keep all objects; a watch that breaks goes on from its
 *    last version. All is listed again when that is too old for the server, or after a time without an answer.
 *
 * It begins with the first read. After a failure the next read tries again, once a pause is over that doubles with each failure: nothing is asked while
 * nothing is read, and an open watch does not keep the process running.
 */
import type { IncomingMessage } from "node:http"
import { type Clock, realClock } from "@superstep/toolkit/time/clock"
import { type Cluster, ClusterFailed } from "./cluster.js"
import type { KubernetesObject, Metadata } from "./objects.js"

export interface WatchOptions {
  readonly cluster: Pick<Cluster, "json" | "stream">
  /** Of the kind in a namespace. */
  readonly path: string
  readonly labelSelector: string
  readonly clock?: Clock
}

export interface Shown<T> {
  find(name: string): T | undefined
  /** @param match  labels that they have besides those of the selector */
  list(match?: Readonly<Record<string, string>>): T[]
}

export interface WatchedObjects<T> {
  /** @throws ClusterFailed  it is not known now, and why */
  find(name: string): Promise<T | undefined>
  /** @throws ClusterFailed  they are not known now, and why */
  list(match?: Readonly<Record<string, string>>): Promise<T[]>
  /**
   * Calls `look` now and after each change, until it returns something.
   * @returns  that, or undefined when there was nothing in time
   * @throws ClusterFailed  what is there is not known any more
   */
  until<V>(look: (shown: Shown<T>) => V | undefined, timeoutMs: number): Promise<V | undefined>
  /** Reads wait until they show this version of an object, which the server has answered (W1). */
  wrote(object: Metadata): void
  /** Reads wait until they no longer show this object, or show it as being deleted (W1). */
  removed(object: Metadata): void
  /** Ends the watch, and all waits. */
  close(): Promise<void>
}

// How long a list, or the opening of a watch, may take. Reads wait for it, and as long for what was written.
const answerMs = 10_000
// The server sends a bookmark each minute, once an object of the kind has changed somewhere in the cluster since it started. Without one the watch is
// opened again, which is a request. A network that is gone is noticed earlier, see `keepAliveMs`.
const silentMs = 90_000
// The system asks a silent peer once a second from then on, ten times.
const keepAliveMs = 10_000
// Then the server ends the watch, so that watches spread over its copies again after one was away.
const watchSeconds = 300
// A watch that ends earlier has failed: the next one may end as soon.
const steadyMs = 1000
const [shortestPauseMs, longestPauseMs] = [250, 4000]
// An object has at most 1.5 MB in etcd.
const mostCharacters = 8 * 2 ** 20

export function watchedObjects<T extends KubernetesObject>(options: WatchOptions): WatchedObjects<T> {
  const { cluster, path, labelSelector, clock = realClock } = options
  const objects = new Map<string, T>()
  /** Of what `objects` has; undefined when all is to be listed. Versions are numbers that grow, as the API promises since Kubernetes 1.35 and etcd has always had them. */
  let version: bigint | undefined
  let isOpen = false
  /** Why nothing is known, until the next attempt. */
  let failure: unknown
  let pauseMs = 0
  let retryAt = 0
  let watching: Promise<void> | undefined
  /** Ends the watch that is open. */
  let breaking = new AbortController()
  const closing = new AbortController()
  /**
   * Of ours, until the watch shows them (W1). At most as many as are made between two events, or while all is listed: each event removes what it shows,
   * and without a watch none is kept, since the next one begins with a list.
   */
  const unseen = new Set<Write>()
  /** Of reads and waits: run after each change. */
  const checks = new Set<() => void>()
  const runChecks = () => {
    for (const check of [...checks]) check()
  }

  const shown: Shown<T> = {
    find: (name) => objects.get(name),
    list: (match = {}) =>
      [...objects.values()].filter(({ metadata }) =>
        Object.entries(match).every(([name, value]) => metadata.labels?.[name] === value),
      ),
  }
  const isSeen = ({ name, uid, written, isRemoval }: Write, at: bigint): boolean => {
    if (at < written) return false
    const found = objects.get(name)?.metadata
    return !isRemoval || found?.uid !== uid || found?.deletionTimestamp !== undefined
  }
  const forgetSeen = (at: bigint) => {
    for (const write of unseen) if (isSeen(write, at)) unseen.delete(write)
  }
  /** @returns  undefined while it will soon be known */
  const present = (): Shown<T> | undefined => {
    if (failure !== undefined) throw failure
    if (!isOpen || version === undefined) return undefined
    forgetSeen(version)
    return unseen.size === 0 ? shown : undefined
  }

  /** @returns  the version of the list */
  const list = async (): Promise<bigint> => {
    const before = [...unseen]
    const request = { query: { labelSelector }, answerMs, silentMs: answerMs, signal: closing.signal }
    const { body } = await cluster
      .json<{ readonly metadata: Versioned; readonly items: readonly T[] }>(path, request)
      .catch(explain("list", path))
    objects.clear()
    for (const object of body.items) objects.set(object.metadata.name, object)
    for (const write of before) unseen.delete(write)
    return BigInt(body.metadata.resourceVersion)
  }
  const take = ({ type, object }: WatchEvent<T>): void => {
    if (type === "ERROR") throw new ClusterFailed(`the watch of ${path} ends: ${object.message}`, object.code)
    const { name, uid, resourceVersion = "" } = object.metadata
    version = BigInt(resourceVersion)
    if (type === "DELETED") {
      if (objects.get(name)?.metadata.uid === uid) objects.delete(name)
    } else if (type !== "BOOKMARK") objects.set(name, object)
    forgetSeen(version)
    runChecks()
  }
  /** Resolves when the watch has ended or broken off. @throws ClusterFailed */
  const follow = async (from: bigint): Promise<false> => {
    const query = {
      labelSelector,
      watch: "true",
      allowWatchBookmarks: "true",
      resourceVersion: String(from),
      timeoutSeconds: String(watchSeconds),
    }
    breaking = new AbortController()
    const signal = AbortSignal.any([closing.signal, breaking.signal])
    const response = await cluster.stream(path, { query, answerMs, silentMs, signal }).catch(explain("watch", path))
    response.socket.setKeepAlive(true, keepAliveMs).unref()
    isOpen = true
    runChecks()
    try {
      for await (const line of linesOf(response)) take(JSON.parse(line) as WatchEvent<T>)
    } catch (error) {
      if (error instanceof ClusterFailed) throw error
      breaking.signal.throwIfAborted()
    } finally {
      isOpen = false
    }
    return false
  }
  /** Runs until it fails. */
  const keep = async (): Promise<never> => {
    for (;;) {
      const isFresh = version === undefined
      version ??= await list()
      const openedAt = clock.now()
      const isGone = await follow(version).catch(trueIfGone)
      closing.signal.throwIfAborted()
      const isSteady = clock.now() - openedAt >= steadyMs
      if (isGone) version = undefined
      if (isSteady) pauseMs = 0
      else if (isFresh || !isGone) throw new ClusterFailed(`the API server ends the watch of ${path} at once`)
    }
  }
  const begin = (): void => {
    if (watching || clock.now() < retryAt) return
    failure = undefined
    watching = keep().catch((error: unknown) => {
      failure = error
      version = undefined
      unseen.clear()
      pauseMs = Math.min(Math.max(shortestPauseMs, pauseMs * 2), longestPauseMs)
      retryAt = closing.signal.aborted ? Number.POSITIVE_INFINITY : clock.now() + pauseMs
      watching = undefined
      runChecks()
    })
  }

  const waitFor = <V>(look: () => V | undefined, timeoutMs: number): Promise<V | undefined> => {
    begin()
    return new Promise((resolve, reject) => {
      const end = (finish: () => void) => {
        checks.delete(check)
        cancelTimer()
        finish()
      }
      const check = () => {
        try {
          const found = look()
          if (found !== undefined) end(() => resolve(found))
        } catch (error) {
          end(() => reject(error))
        }
      }
      const cancelTimer = clock.after(timeoutMs, () => end(() => resolve(undefined)))
      checks.add(check)
      check()
    })
  }
  const now = async (): Promise<Shown<T>> => {
    const found = await waitFor(present, answerMs)
    if (found) return found
    const error = new ClusterFailed(`the API server has not shown the last changes of ${path} for ${answerMs} ms`)
    // A watch that is being opened has a time limit of its own. Breaking it would start all over on a slow server, each time.
    if (isOpen) breaking.abort(error)
    throw error
  }
  const note = ({ name, uid, resourceVersion }: Metadata, isRemoval: boolean): void => {
    if (watching && resourceVersion !== undefined)
      unseen.add({ name, uid, written: BigInt(resourceVersion), isRemoval })
  }
  return {
    find: async (name) => (await now()).find(name),
    list: async (match) => (await now()).list(match),
    until: (look, timeoutMs) =>
      waitFor(() => {
        const found = present()
        return found && look(found)
      }, timeoutMs),
    wrote: (object) => note(object, false),
    removed: (object) => note(object, true),
    close: async () => {
      closing.abort(new ClusterFailed(`the watch of ${path} is closed`))
      await watching
    },
  }
}

interface Write {
  readonly name: string
  readonly uid: string | undefined
  readonly written: bigint
  readonly isRemoval: boolean
}

interface Versioned {
  readonly resourceVersion: string
}

type WatchEvent<T> =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK"; readonly object: T }
  | { readonly type: "ERROR"; readonly object: { readonly code: number; readonly message: string } }

/** Complete lines; what comes after the last one when it breaks off is not one. */
async function* linesOf(response: IncomingMessage): AsyncGenerator<string> {
  let begun = ""
  for await (const piece of response.setEncoding("utf8")) {
    const lines = `${begun}${piece}`.split("\n")
    begun = lines.pop() ?? ""
    if (begun.length > mostCharacters) throw new Error("an event has no end")
    yield* lines
  }
}

// The server no longer has the changes since the version that a watch is to go on from.
const gone = 410

function trueIfGone(error: unknown): true {
  if (error instanceof ClusterFailed && error.status === gone) return true
  throw error
}

/** A refusal says which right is missing: roles that were written for an older release lack it. */
const explain =
  (verb: "list" | "watch", path: string) =>
  (error: unknown): never => {
    if (!(error instanceof ClusterFailed) || error.status !== 403) throw error
    const kind = path.split("/").at(-1)
    const next = `the role of the control plane needs the verb "${verb}" for ${kind} (docs/kubernetes.md, "Rights and networks")`
    throw new ClusterFailed(`${error.message}: ${next}`, error.status, { cause: error })
  }
