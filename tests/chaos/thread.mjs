/**
 * Each node appends one id, `<task>/<super-step>#<attempt>`, so that the state says what was executed, in which order and by which attempt. With `asks`
 * it then waits for an answer, which names the run that gives it. An update as the node `note` leaves nothing to do.
 */
import "./clock.mjs"
import { setTimeout as sleep } from "node:timers/promises"
import { Annotation, interrupt, StateGraph } from "@langchain/langgraph"

const State = Annotation.Root({
  task: Annotation(),
  at: Annotation(),
  // Changes in every other super-step: a checkpoint between two of them relies on what an earlier one has saved.
  even: Annotation(),
  log: Annotation({ reducer: (one, two) => one.concat(two), default: () => [] }),
  // Numbers that clients send and read again.
  carried: Annotation({ reducer: (one, two) => one.concat(two), default: () => [] }),
})

async function work({ task, at }, { metadata }) {
  await sleep(task.stepMs)
  const even = at % 2 === 0 ? { even: at } : {}
  return { ...even, at: at + 1, log: [`${task.name}/${at}#${metadata.run_attempt}`] }
}

async function ask({ task }, { metadata }) {
  const answer = interrupt({ task: task.name })
  await sleep(task.stepMs)
  // `run.start` answers with its whole input.
  const name = typeof answer === "string" ? answer : answer.task.name
  return { log: [`${name}/answer#${metadata.run_attempt}`] }
}

const next = ({ task, at }) => (at < task.steps ? "work" : task.asks ? "ask" : "__end__")

export const graph = new StateGraph(State)
  .addNode("work", work)
  .addNode("ask", ask)
  .addNode("note", () => ({}))
  .addConditionalEdges("__start__", () => "work", ["work", "note"])
  .addConditionalEdges("work", next, ["work", "ask", "__end__"])
  .addEdge("ask", "__end__")
  .addEdge("note", "__end__")
  .compile()
