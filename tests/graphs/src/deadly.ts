/** Graphs that end, fill or hold their process, one that sets its clock, and one that waits beside them until a file appears. */
import { existsSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { Annotation, type LangGraphRunnableConfig, StateGraph } from "@langchain/langgraph"

const State = Annotation.Root({ n: Annotation<number>, file: Annotation<string> })
type State = typeof State.State

/** Counts once, which is committed, and then does `harm`. */
const afterOneStep = (harm: (state: State, config: LangGraphRunnableConfig) => Promise<object>) =>
  new StateGraph(State)
    .addNode("count", ({ n }) => ({ n: n + 1 }))
    .addNode("harm", harm)
    .addEdge("__start__", "count")
    .addEdge("count", "harm")
    .addEdge("harm", "__end__")
    .compile()

export const exits = afterOneStep(async () => process.exit(13))

// Buffers are outside JavaScript's heap, so that no limit of V8 is in the way.
export const hoards = afterOneStep(async () => {
  const hoard: Buffer[] = []
  for (;;) {
    hoard.push(Buffer.alloc(2 ** 24, 1))
    await sleep(1)
  }
})

export const loops = afterOneStep(async () => {
  for (;;);
})

export const waits = afterOneStep(async ({ file }, { signal }) => {
  while (!existsSync(file)) await sleep(20, undefined, { signal })
  return {}
})

const Turns = Annotation.Root({
  log: Annotation<string[]>({ reducer: (all, more) => all.concat(more), default: () => [] }),
  clockMs: Annotation<number>,
})

const realNow = Date.now

/** Sets the clock of its process, from which the ids of checkpoints come, so many milliseconds beside the right time. */
export const clocks = new StateGraph(Turns)
  .addNode("set", ({ clockMs }) => {
    Date.now = () => realNow() + clockMs
    return { log: [`clock ${clockMs}`] }
  })
  .addEdge("__start__", "set")
  .addEdge("set", "__end__")
  .compile()
