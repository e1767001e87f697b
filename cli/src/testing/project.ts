/** A user project in a folder of its own, with the repository's copy of LangGraph. */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"

const echoGraph = `
import { MessagesAnnotation, StateGraph } from "@langchain/langgraph"

export const graph = new StateGraph(MessagesAnnotation)
  .addNode("reply", ({ messages }) => ({ messages: [{ role: "ai", content: \`You said: \${messages.at(-1)?.content}\` }] }))
  .addEdge("__start__", "reply")
  .compile()
`

/** A graph that ends when there is a file `gate` in the project's folder. */
export const waitingGraph = `
import { existsSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { MessagesAnnotation, StateGraph } from "@langchain/langgraph"

async function reply() {
  while (!existsSync("gate")) await sleep(20)
  return { messages: [{ role: "ai", content: "the gate is open" }] }
}

export const graph = new StateGraph(MessagesAnnotation).addNode("reply", reply).addEdge("__start__", "reply").compile()
`

/** @returns the folder of a project with one graph, `echo` */
export function makeProject(graph = echoGraph): string {
  const folder = temporaryFolder()
  mkdirSync(join(folder, "src"))
  symlinkSync(fileURLToPath(new URL("../../../node_modules", import.meta.url)), join(folder, "node_modules"))
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "echo", private: true, type: "module" }))
  writeFileSync(join(folder, "langgraph.json"), JSON.stringify({ graphs: { echo: "./src/graph.ts:graph" } }))
  writeFileSync(join(folder, "src/graph.ts"), graph)
  return folder
}
