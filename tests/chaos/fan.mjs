/** One super-step of parallel branches between two single ones: what a branch wrote counts once. */
import { setTimeout as sleep } from "node:timers/promises"
import { Annotation, Send, StateGraph } from "@langchain/langgraph"
import { tell } from "./effect.mjs"

const State = Annotation.Root({
  /** `branches` of them; branch n takes n times `stepMs` milliseconds. */
  task: Annotation(),
  count: Annotation({ reducer: (one, two) => one + two, default: () => 0 }),
  messages: Annotation({ reducer: (one, two) => one.concat(two), default: () => [] }),
})

async function split({ task }, config) {
  tell(config, "split")
  await sleep(task.stepMs)
  return { count: 1, messages: [`${task.name}:split`] }
}

async function branch({ task, branch: number }, config) {
  tell(config, `branch ${number}`)
  await sleep(task.stepMs * (number + 1))
  return { count: 1, messages: [`${task.name}:branch ${number}`] }
}

async function join({ task }, config) {
  tell(config, "join")
  await sleep(task.stepMs)
  return { count: 1, messages: [`${task.name}:join`] }
}

const branches = ({ task }) =>
  Array.from({ length: task.branches }, (_, number) => new Send("branch", { task, branch: number }))

export const graph = new StateGraph(State)
  .addNode("split", split)
  .addNode("branch", branch)
  .addNode("join", join)
  .addEdge("__start__", "split")
  .addConditionalEdges("split", branches, ["branch"])
  .addEdge("branch", "join")
  .addEdge("join", "__end__")
  .compile()
