/**
 * Brings threads from one agent server to another, over their public APIs.
 * I1 a thread is created with its state, or not at all, so a kill leaves no half a thread; I2 what was created is compared with its source, and
 * what differs is named; I3 a thread that is there already is never changed, unless its replacement is asked for and nothing ran on it there;
 * I4 nothing is executed: the graph only applies updates.
 */
import { toJsonText } from "@superstep/toolkit/http/json"
import { type AgentApi, AgentRefused, unlessMissing } from "./agent-api.js"
import { type GraphEdges, producersOf, readEdges } from "./graph-edges.js"
import { sameJson } from "./same-json.js"
import { readState, type State } from "./states.js"
import { goTo, missingNames, type Replay, replay, type Superstep } from "./supersteps.js"

export interface ThreadImport {
  readonly from: AgentApi
  readonly to: AgentApi
  /** Most checkpoints of a thread, the newest ones; the oldest of them contains what came before. */
  readonly mostCheckpoints: number
  /** Whether a thread that is there with another state, and on which nothing ran there, is deleted and created again. */
  readonly replaces: boolean
  readonly graphs: Graphs
}

/** What is known of the graphs there; shared by all threads. */
export interface Graphs {
  readonly edges: Map<string, Promise<GraphEdges>>
  /** Nodes that say themselves where to go next, by graph. */
  readonly going: Map<string, Set<string>>
}

export const noGraphs = (): Graphs => ({ edges: new Map(), going: new Map() })

export type Outcome =
  | { readonly kind: "imported"; readonly checkpoints: number; readonly notes: readonly string[] }
  | { readonly kind: "there" }
  | { readonly kind: "skipped"; readonly why: string }
  /** It is there, and is not what it was: `why` says in what. */
  | { readonly kind: "differs"; readonly why: string }

/**
 * Imports one thread.
 * @throws AgentRefused  a server refuses what it was sent; nothing of the thread is there
 * @throws AgentAway
 */
export async function importThread(context: ThreadImport, threadId: string): Promise<Outcome> {
  const { from, to } = context
  const path = `/threads/${threadId}`
  const thread = await unlessMissing(from.send("GET", path))
  if (thread === undefined) return { kind: "skipped", why: "it was deleted meanwhile" }
  if (thread.status === "busy")
    return { kind: "skipped", why: "a run executes on it: import it again when that has ended" }
  const head = readState(await from.send("GET", `${path}/state`))
  const isThere = (await unlessMissing(to.send("GET", path))) !== undefined
  if (isThere) {
    if (differenceOf(head, readState(await to.send("GET", `${path}/state`))) === undefined) return { kind: "there" }
    const refusal = await whyNotReplaced(context, path)
    if (refusal !== undefined) return { kind: "differs", why: refusal }
  }
  const metadata = thread.metadata ?? {}
  if (head.id === undefined) {
    if (isThere) await remove(to, path)
    await create(to, { thread_id: threadId, metadata })
    return { kind: "imported", checkpoints: 0, notes: [] }
  }
  const graphId = typeof metadata.graph_id === "string" ? metadata.graph_id : head.graphId
  if (graphId === undefined)
    return { kind: "skipped", why: "the old server does not say by which graph its state was made" }
  const history = await readHistory(context, path, head)
  return write(context, { threadId, isThere, metadata: { ...metadata, graph_id: graphId }, graphId, head, history })
}

async function whyNotReplaced({ to, replaces }: ThreadImport, path: string): Promise<string | undefined> {
  const words = "the new server has it with another state"
  if (!replaces) return `${words}: it is left as it is; --replace imports it again if nothing ran on it`
  const runs = await to.send("GET", `${path}/runs?limit=1`)
  return runs.length === 0 ? undefined : `${words}, and runs: it is left as it is`
}

const create = (to: AgentApi, body: object): Promise<unknown> =>
  to.send("POST", "/threads", { ...body, if_exists: "do_nothing" })

/** It is missing already if the reply to the first try was lost. */
const remove = (to: AgentApi, path: string): Promise<unknown> => unlessMissing(to.send("DELETE", path))

interface Difference {
  readonly in: "values" | "next"
  readonly words: string
}

/** In what two states differ for whoever goes on with them; undefined when in nothing. */
function differenceOf(source: State, found: State): Difference | undefined {
  const channels = [...new Set([...Object.keys(source.values), ...Object.keys(found.values)])]
  const others = channels.filter((channel) => !sameJson(source.values[channel], found.values[channel]))
  if (others.length > 0) return { in: "values", words: `its state differs in ${others.slice(0, 5).join(", ")}` }
  if (missingNames(source.next, found.next)?.length === 0) return undefined
  return { in: "next", words: `it waits for ${nodes(found.next)} instead of ${nodes(source.next)}` }
}

const nodes = (next: readonly string[]): string => (next.length === 0 ? "nothing" : next.join(", "))

interface History {
  /** From the newest to the oldest that is imported. */
  readonly chain: readonly State[]
  /** The one before these, if there is one. */
  readonly before: State | undefined
  /** Checkpoints of other branches that were seen. */
  readonly others: number
}

const mostOfPage = 20
const bytesOfPage = 8 * 1024 * 1024
// The states' sizes together: that much is written in one transaction. What came before is in the oldest checkpoint.
const mostBytes = 32 * 1024 * 1024

/** Follows the newest checkpoint to its ancestors: other branches of a thread that was forked are left out. */
async function readHistory({ from, mostCheckpoints }: ThreadImport, path: string, head: State): Promise<History> {
  const chain: State[] = []
  const pageSize = Math.max(1, Math.min(mostOfPage, Math.floor(bytesOfPage / sizeOf(head))))
  let wanted = head.id
  let [others, bytes] = [0, 0]
  for (let last: string | undefined; ; ) {
    const asked = { limit: pageSize, ...(last !== undefined && { before: last }) }
    const page: unknown[] = await from.send("POST", `${path}/history`, asked)
    for (const state of page.map(readState)) {
      last = state.id
      if (state.id === undefined || state.id !== wanted) {
        others++
        continue
      }
      const isFull = chain.length >= mostCheckpoints || bytes > mostBytes
      // An input cannot be the first: it says nothing of what came before it.
      if (isFull && chain.at(-1)?.source !== "input") return { chain, before: state, others }
      bytes += sizeOf(state)
      chain.push(sharingItems(state, chain.at(-1) ?? head))
      wanted = state.parentId
    }
    if (page.length < pageSize) return { chain: chain.length === 0 ? [head] : chain, before: undefined, others }
  }
}

const sizeOf = ({ values }: State): number => toJsonText(values).length

/** A state keeps what the one after it has as well: a conversation of many turns is in memory once, not once for each turn. */
function sharingItems(state: State, later: State): State {
  const shared = Object.entries(state.values).map(([channel, value]) => {
    const other = later.values[channel]
    if (sameJson(value, other)) return [channel, other] as const
    if (!Array.isArray(value) || !Array.isArray(other)) return [channel, value] as const
    return [channel, value.map((item, n) => (sameJson(item, other[n]) ? other[n] : item))] as const
  })
  return { ...state, values: Object.fromEntries(shared) }
}

interface Wanted {
  readonly threadId: string
  /** With another state, which is replaced. */
  readonly isThere: boolean
  readonly metadata: Readonly<Record<string, unknown>>
  readonly graphId: string
  readonly head: State
  readonly history: History
}

/** Creates the thread with as much of its history as can be made again, at least with its last state. */
async function write(context: ThreadImport, wanted: Wanted): Promise<Outcome> {
  const { to, graphs } = context
  const { threadId, graphId, head, history } = wanted
  const { chain, before } = history
  const producerOf = await producers(context, wanted)
  const goingNodes = graphs.going.get(graphId) ?? new Set()
  graphs.going.set(graphId, goingNodes)
  const newest = head.source === "input" ? chain.slice(0, 2) : chain.slice(0, 1)
  const plans: Pick<Replay, "chain" | "unknownLists">[] = [
    { chain, unknownLists: "new items" },
    { chain, unknownLists: "all items" },
    { chain: newest, unknownLists: "new items" },
  ]
  let failure: unknown
  let tried: string | undefined
  for (const [index, plan] of plans.entries()) {
    const made = replay({ ...plan, producerOf, goingNodes })
    // The second plan is often the first one again.
    const text = toJsonText(made?.supersteps)
    if (made === undefined || text === tried) continue
    // Not before there is something to put in its place.
    if (tried === undefined && wanted.isThere) await remove(to, `/threads/${threadId}`)
    tried = text
    const written = await tryReplay(context, wanted, made, goingNodes).catch((error: unknown) => {
      // The graph does not take such updates.
      if (error instanceof AgentRefused && error.status < 500) return error
      throw error
    })
    if (written instanceof AgentRefused) {
      failure = written
      continue
    }
    if (written.difference === undefined) {
      const isPart = before !== undefined || made.states.length < chain.length
      const notes = [
        ...(isPart ? [`its history has the newest ${made.states.length} checkpoints`] : []),
        ...(history.others > 0 ? [`${history.others} checkpoints of other branches are left out`] : []),
        ...(written.otherNext > 0 ? [`${written.otherNext} former checkpoints show another next node`] : []),
      ]
      return { kind: "imported", checkpoints: made.states.length, notes }
    }
    const { in: part, words } = written.difference
    // What they wrote is beside the checkpoint, where no update can write.
    const ended = head.next.length === 0 ? [] : head.tasks.filter(({ result }) => result !== undefined)
    if (ended.length > 0)
      return {
        kind: "differs",
        why: `${nodes(ended.map(({ name }) => name))} ran beside a node that waits, and runs again`,
      }
    // With less of its history it would wait for no other node.
    if (part === "next" || index === plans.length - 1) return { kind: "differs", why: words }
    await remove(to, `/threads/${threadId}`)
    failure = new AgentRefused(words, 422)
  }
  throw failure ?? new AgentRefused("its graph has no node that could make its state", 422)
}

interface Written {
  /** Undefined: the thread is there as it was. */
  readonly difference: Difference | undefined
  /** Former checkpoints after which the graph would go on differently. */
  readonly otherNext: number
}

type Made = NonNullable<ReturnType<typeof replay>>

/** Creates the thread; once more, if nodes that say themselves where to go have to be told. */
async function tryReplay(
  { to }: ThreadImport,
  { threadId, metadata, head }: Wanted,
  { states, supersteps }: Made,
  goingNodes: Set<string>,
): Promise<Written> {
  const path = `/threads/${threadId}`
  const createAndCompare = async (given: readonly Superstep[]) => {
    await create(to, { thread_id: threadId, metadata, supersteps: given })
    const made: unknown[] = await to.send("POST", `${path}/history`, {
      limit: states.length,
      select: ["next", "checkpoint"],
    })
    return made.map(readState).toReversed()
  }
  let found = await createAndCompare(supersteps)
  const corrected = supersteps.map((superstep, index) => {
    const next = found[index]?.next ?? []
    const missing = missingNames(states[index]?.next ?? [], next) ?? []
    const last = superstep.updates.at(-1)
    const isSent = states[index]?.tasks.some(({ name, isSent: it }) => it && missing.includes(name)) ?? false
    if (missing.length === 0 || isSent || last === undefined || last.as_node === "__input__") return superstep
    if (next.length === 0 && superstep.updates.length === 1) goingNodes.add(last.as_node)
    return { updates: [...superstep.updates.slice(0, -1), goTo(last, missing)] }
  })
  if (corrected.some((superstep, index) => superstep !== supersteps[index])) {
    await remove(to, path)
    found = await createAndCompare(corrected)
  }
  const isOther = (state: State, index: number) => missingNames(state.next, found[index]?.next ?? [])?.length !== 0
  const difference = differenceOf(head, readState(await to.send("GET", `${path}/state`)))
  return { difference, otherNext: states.slice(0, -1).filter(isOther).length }
}

/** The node by which a state was made: one that ran then, else one that comes before what is next. */
async function producers(
  { to, graphs }: ThreadImport,
  { graphId, history }: Wanted,
): Promise<(state: State) => string | undefined> {
  const known =
    graphs.edges.get(graphId) ?? to.send("GET", `/assistants/${encodeURIComponent(graphId)}/graph`).then(readEdges)
  graphs.edges.set(graphId, known)
  const edges = await known
  const all = [...history.chain, ...(history.before ? [history.before] : [])]
  const byId = new Map(all.map((state) => [state.id, state]))
  return (state) => {
    const likely = producersOf(edges, state.next)
    const ran = byId.get(state.parentId)?.tasks.map(({ name }) => name) ?? []
    const wroteIt = state.source === "update" ? undefined : ran.find((name) => edges.nodes.includes(name))
    return wroteIt ?? lastNode(byId, state).find((name) => likely.includes(name)) ?? likely[0]
  }
}

/** The nodes that ran last before a state. */
function lastNode(byId: ReadonlyMap<string | undefined, State>, state: State): readonly string[] {
  for (let at = byId.get(state.parentId); at !== undefined; at = byId.get(at.parentId)) {
    const before = byId.get(at.parentId)
    if (at.source === "loop" && before && before.tasks.length > 0) return before.tasks.map(({ name }) => name)
  }
  return []
}
