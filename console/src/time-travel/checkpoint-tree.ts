/** The checkpoints of a thread as a tree of branches, drawn as lanes beside a list. Pure. */

/** A checkpoint of `GET /threads/{id}/history`, as far as it is read here. */
export interface HistoryItem {
  readonly checkpoint: { readonly checkpoint_id?: string | null | undefined }
  readonly parent_checkpoint?: { readonly checkpoint_id?: string | null | undefined } | null | undefined
  readonly created_at?: string | null | undefined
  readonly next: readonly string[]
  readonly values: unknown
  readonly metadata?: Readonly<Record<string, unknown>> | null | undefined
  readonly tasks?: readonly {
    readonly id?: string
    readonly name: string
    readonly interrupts?: readonly unknown[]
    readonly error?: unknown
    readonly result?: unknown
  }[]
}

export interface TreeItem {
  readonly id: string
  readonly parentId: string | undefined
  readonly item: HistoryItem
  /** 0 is the line of checkpoints that the thread's present state comes from. */
  readonly lane: number
  /** Lanes of branches that go on above this row and come from below it. */
  readonly passing: readonly number[]
  /** Lanes of branches that leave the line at this checkpoint. */
  readonly forks: readonly number[]
  readonly isHead: boolean
  /** The newest one of its branch. */
  readonly isTip: boolean
  /** The oldest one of its branch; the tip of its own branch may be the same. */
  readonly isFirst: boolean
}

export interface CheckpointTree {
  /** The newest first. */
  readonly items: readonly TreeItem[]
  readonly lanes: number
  readonly head: string | undefined
}

/** @param history  in any order; checkpoints whose parent is not in it are roots */
export function treeOf(history: readonly HistoryItem[]): CheckpointTree {
  // Ids of checkpoints rise with time.
  const newestFirst = history
    .flatMap((item) => (item.checkpoint.checkpoint_id ? { id: item.checkpoint.checkpoint_id, item } : []))
    .sort((a, b) => (a.id < b.id ? 1 : -1))
  const known = new Set(newestFirst.map(({ id }) => id))
  const parents = new Map(
    newestFirst.map(({ id, item }) => {
      const parent = item.parent_checkpoint?.checkpoint_id ?? undefined
      return [id, parent !== undefined && known.has(parent) ? parent : undefined]
    }),
  )
  const { laneOf, tips, lanes } = lanesOf(
    newestFirst.map(({ id }) => id),
    parents,
  )
  const row = new Map(newestFirst.map(({ id }, position) => [id, position]))
  const spans = tips.map((tip) => spanOf(tip, parents, laneOf, row))
  const items = newestFirst.map(({ id, item }, position) => {
    const parentId = parents.get(id)
    const lane = laneOf.get(id) ?? 0
    return {
      id,
      parentId,
      item,
      lane,
      passing: spans.filter((it) => it.from < position && position < it.to && it.lane !== lane).map((it) => it.lane),
      forks: spans.filter((it) => it.to === position && it.lane !== lane).map((it) => it.lane),
      isHead: position === 0,
      isTip: tips.includes(id),
      isFirst: parentId === undefined || laneOf.get(parentId) !== lane,
    }
  })
  return { items, lanes, head: newestFirst[0]?.id }
}

/** Each branch, from its newest checkpoint down to where it leaves an older line, has a lane of its own. */
function lanesOf(newestFirst: readonly string[], parents: ReadonlyMap<string, string | undefined>) {
  const laneOf = new Map<string, number>()
  const tips: string[] = []
  for (const tip of newestFirst) {
    if (laneOf.has(tip)) continue
    const lane = tips.length
    tips.push(tip)
    for (let id: string | undefined = tip; id !== undefined && !laneOf.has(id); id = parents.get(id))
      laneOf.set(id, lane)
  }
  return { laneOf, tips, lanes: Math.max(1, tips.length) }
}

/** The rows between which a branch is drawn: from its tip to the checkpoint that it leaves, or to its root. */
function spanOf(
  tip: string,
  parents: ReadonlyMap<string, string | undefined>,
  laneOf: ReadonlyMap<string, number>,
  row: ReadonlyMap<string, number>,
) {
  const lane = laneOf.get(tip) ?? 0
  let last = tip
  for (let id: string | undefined = tip; id !== undefined; id = parents.get(id)) {
    last = id
    if (laneOf.get(id) !== lane) break
  }
  return { lane, from: row.get(tip) ?? 0, to: row.get(last) ?? 0 }
}

/** What a checkpoint is, in a few words: the node that led to it, or what made it. */
export function titleOf(item: Pick<HistoryItem, "metadata">, parent: Pick<HistoryItem, "next"> | undefined): string {
  const source = item.metadata?.source
  if (source === "input") return "input"
  if (source === "update") return "edited"
  if (source === "fork") return "fork"
  const ran = parent?.next.filter((name) => name !== "__start__") ?? []
  return ran.length > 0 ? ran.join(" + ") : parent || Number(item.metadata?.step) <= 0 ? "start" : "checkpoint"
}

/** What the thread waits for at a checkpoint. */
export function waitsFor(item: HistoryItem): "answer" | "error" | "next" | undefined {
  if (item.tasks?.some(({ interrupts }) => (interrupts?.length ?? 0) > 0)) return "answer"
  if (item.tasks?.some(({ error }) => Boolean(error))) return "error"
  return item.next.length > 0 ? "next" : undefined
}
