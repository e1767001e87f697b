/** A server's data in memory: checkpoints in the format of the official savers, and store items. */
import type { Blob, CheckpointTuple, RunFrame, WorkerCall, Write } from "@superstep/protocol/worker/frames"

export interface Answer {
  readonly fields: object
  readonly payload: readonly (readonly [name: string, line: string])[]
}

interface Saved {
  readonly threadId: string
  readonly ns: string
  readonly id: string
  readonly parentId: string | undefined
  readonly checkpoint: string
  readonly metadata: string
}

type Kept<Head> = Head & { readonly line: string }

type CheckpointCall = Exclude<WorkerCall, { readonly method: "store.batch" }>

/** The task of a command's own writes. */
const nullTask = "00000000-0000-0000-0000-000000000000"

export class MemoryCheckpoints {
  readonly saved: Saved[] = []
  readonly #blobs = new Map<string, Kept<Blob>>()
  readonly #writes = new Map<string, Map<string, Kept<Write>>>()
  /** The run of each write. */
  readonly #writers = new Map<string, string>()

  has(threadId: string): boolean {
    return this.saved.some((each) => each.threadId === threadId)
  }

  answer(call: CheckpointCall, lines: readonly string[]): Answer {
    switch (call.method) {
      case "checkpoint.get":
        return this.#get(call.thread_id, call.checkpoint_ns, call.checkpoint_id)
      case "checkpoint.list":
        return this.#list(call)
      case "checkpoint.ancestors":
        return this.#ancestors(call)
      case "checkpoint.put":
        return this.#put(call, lines)
      case "checkpoint.put_writes":
        return this.#putWrites(call, lines)
    }
  }

  /** Like `saved_of_command` of the server. */
  savedOfCommand(threadId: string, runId: string): Pick<RunFrame, "command_saved"> {
    const saved = [...this.#writes].flatMap(([place, writes]) => {
      const answered = [...writes.values()]
        .filter(({ channel }) => channel === "__resume__")
        .map(({ task_id }) => task_id)
      const own = [...writes].filter(
        ([key]) => place.startsWith(threadId) && this.#writers.get(`${place}\0${key}`) === runId,
      )
      return own.map(([, { task_id, channel }]) => {
        if (task_id === nullTask) return channel === "__resume__" ? undefined : "writes"
        return task_id.includes("-") && answered.includes(task_id) ? "answer" : undefined
      })
    })
    const command_saved = (["answer", "writes"] as const).find((each) => saved.includes(each))
    return command_saved === undefined ? {} : { command_saved }
  }

  #get(threadId: string, ns: string, id: string | undefined): Answer {
    const found = this.#newestFirst(threadId, ns).find((each) => id === undefined || each.id === id)
    if (found === undefined) return { fields: {}, payload: [] }
    const { tuple, payload } = this.#tuple(found)
    return { fields: { tuple }, payload }
  }

  #list(call: Extract<CheckpointCall, { method: "checkpoint.list" }>): Answer {
    const { thread_id, checkpoint_ns, before, limit, filter = {} } = call
    const found = this.#newestFirst(thread_id, checkpoint_ns)
      .filter(({ id }) => before === undefined || id < before)
      .filter(({ metadata }) => Object.entries(filter).every(([key, value]) => JSON.parse(metadata)[key] === value))
      .slice(0, limit)
      .map((each) => this.#tuple(each))
    return { fields: { tuples: found.map(({ tuple }) => tuple) }, payload: found.flatMap(({ payload }) => payload) }
  }

  #ancestors(call: Extract<CheckpointCall, { method: "checkpoint.ancestors" }>): Answer {
    const of = (id: string | undefined) =>
      this.#newestFirst(call.thread_id, call.checkpoint_ns).find((each) => id === undefined || each.id === id)
    const target = of(call.checkpoint_id)
    if (target === undefined) return { fields: {}, payload: [] }
    const [blobs, writes]: [Kept<Blob>[], Kept<Write>[]] = [[], []]
    const sought = new Set(call.channels)
    let { parentId } = target
    while (parentId !== undefined && sought.size > 0) {
      const ancestor = of(parentId)
      if (ancestor === undefined) break
      writes.unshift(...this.#writesOf(ancestor).filter(({ channel }) => sought.has(channel)))
      const stored = this.#blobsOf(ancestor).filter(({ channel, type }) => type !== "empty" && sought.delete(channel))
      blobs.push(...stored)
      parentId = ancestor.parentId
    }
    return {
      fields: { history: { blobs: blobs.map(header), writes: writes.map(header) } },
      payload: linesOf(blobs, writes),
    }
  }

  #put(call: Extract<CheckpointCall, { method: "checkpoint.put" }>, lines: readonly string[]): Answer {
    const { thread_id: threadId, checkpoint_ns: ns, checkpoint_id: id, parent_checkpoint_id: parentId, blobs } = call
    const [checkpoint = "", metadata = "", ...values] = lines
    blobs.forEach((blob, index) => {
      const key = [threadId, ns, blob.channel, blob.version].join("\0")
      // A version always has the same value: the first one is kept.
      if (!this.#blobs.has(key)) this.#blobs.set(key, { ...blob, line: values[index] ?? "" })
    })
    this.saved.push({ threadId, ns, id, parentId, checkpoint, metadata })
    return { fields: {}, payload: [] }
  }

  #putWrites(call: Extract<CheckpointCall, { method: "checkpoint.put_writes" }>, lines: readonly string[]): Answer {
    const place = [call.thread_id, call.checkpoint_ns, call.checkpoint_id].join("\0")
    const known = this.#writes.get(place) ?? new Map<string, Kept<Write>>()
    this.#writes.set(place, known)
    const replaces = call.writes.every(({ idx }) => idx < 0)
    call.writes.forEach((write, index) => {
      const key = `${write.task_id}\0${write.idx}`
      if (!replaces && known.has(key)) return
      known.set(key, { ...write, line: lines[index] ?? "" })
      this.#writers.set(`${place}\0${key}`, call.run_id)
    })
    return { fields: {}, payload: [] }
  }

  #newestFirst(threadId: string, ns: string | undefined): Saved[] {
    return this.saved
      .filter((each) => each.threadId === threadId && (ns === undefined || each.ns === ns))
      .sort((a, b) => (a.id < b.id ? 1 : -1))
  }

  #tuple(saved: Saved): { tuple: CheckpointTuple; payload: (readonly [string, string])[] } {
    const { ns, id, parentId, checkpoint, metadata } = saved
    const [blobs, writes] = [this.#blobsOf(saved), this.#writesOf(saved)]
    const parent = parentId === undefined ? {} : { parent_checkpoint_id: parentId }
    const tuple = {
      checkpoint_ns: ns,
      checkpoint_id: id,
      ...parent,
      blobs: blobs.map(header),
      writes: writes.map(header),
    }
    const head = [["checkpoint", checkpoint] as const, ["metadata", metadata] as const]
    return { tuple, payload: [...head, ...linesOf(blobs, writes)] }
  }

  #blobsOf({ threadId, ns, checkpoint }: Saved): Kept<Blob>[] {
    const versions = Object.entries<unknown>(JSON.parse(checkpoint).channel_versions)
    return versions.flatMap(([channel, version]) => this.#blobs.get([threadId, ns, channel, version].join("\0")) ?? [])
  }

  #writesOf({ threadId, ns, id }: Saved): Kept<Write>[] {
    const writes = [...(this.#writes.get([threadId, ns, id].join("\0"))?.values() ?? [])]
    const order = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))
    return writes.sort((a, b) => order(a.task_path, b.task_path) || order(a.task_id, b.task_id) || a.idx - b.idx)
  }
}

const header = <Head>({ line: _, ...rest }: Kept<Head>) => rest

const linesOf = (blobs: readonly Kept<Blob>[], writes: readonly Kept<Write>[]) => [
  ...blobs.map(({ line }) => ["blob", line] as const),
  ...writes.map(({ line }) => ["write", line] as const),
]

interface Item {
  readonly namespace: readonly string[]
  readonly key: string
  readonly value: Readonly<Record<string, unknown>>
  readonly created_at: string
  readonly updated_at: string
}

interface Operation {
  readonly op: string
  readonly namespace?: readonly string[]
  readonly key?: string
  readonly value?: Item["value"] | null
  readonly namespace_prefix?: readonly string[]
  readonly filter?: Readonly<Record<string, unknown>>
}

export class MemoryStore {
  readonly #items = new Map<string, Item>()

  answer([operations = "[]"]: readonly string[]): Answer {
    const results = JSON.parse(operations).map((operation: Operation) => this.#apply(operation))
    return { fields: {}, payload: [["results", JSON.stringify(results)]] }
  }

  #apply({ op, namespace = [], key = "", value = null, namespace_prefix = [], filter = {} }: Operation): unknown {
    const place = JSON.stringify([namespace, key])
    const now = new Date().toISOString()
    switch (op) {
      case "get":
        return this.#items.get(place) ?? null
      case "put":
        if (value === null) this.#items.delete(place)
        else this.#items.set(place, { namespace, key, value, created_at: now, updated_at: now })
        return null
      case "search":
        return [...this.#items.values()].filter(
          (item) =>
            namespace_prefix.every((part, index) => item.namespace[index] === part) &&
            Object.entries(filter).every(([field, wanted]) => item.value[field] === wanted),
        )
      default:
        return [...new Set([...this.#items.values()].map((item) => JSON.stringify(item.namespace)))].map((text) =>
          JSON.parse(text),
        )
    }
  }
}
