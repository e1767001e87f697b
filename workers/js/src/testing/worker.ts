/** The real worker with the test graphs loaded, for tests. */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { readGraphs } from "../langgraph-json.js"
import { FakeServer } from "./fake-server.js"

/** The repository's test graphs; this file runs from `workers/js/dist/testing`. */
export const graphsFolder = new URL("../../../../tests/graphs/", import.meta.url).pathname

/** Of the LangGraph that the test graphs use: the pinned one, or the newest (`npm test -- --newest`). */
export const langgraphVersion = versionOf("@langchain/langgraph")

/** Whether the test graphs' LangGraph is of this version or newer. */
export function isSince(version: string): boolean {
  const [have, wanted] = [langgraphVersion, version].map((text) => text.split(".").map(Number))
  const [index] = [0, 1, 2].filter((at) => have?.[at] !== wanted?.[at])
  return index === undefined || Number(have?.[index]) > Number(wanted?.[index])
}

function versionOf(name: string): string {
  const file = createRequire(graphsFolder).resolve(`${name}/package.json`)
  return JSON.parse(readFileSync(file, "utf8")).version
}

export const workerMain = new URL("../main.js", import.meta.url).pathname

/** Starts a worker that has loaded these graphs of `tests/graphs`, or a folder of the test's own. */
export async function startWorker(...graphIds: string[]): Promise<FakeServer> {
  const { project, graphs } = readGraphs(`${graphsFolder}langgraph.json`)
  const server = await FakeServer.start(workerMain)
  await server.load(project, Object.fromEntries(graphIds.map((graphId) => [graphId, graphs[graphId] ?? ""])))
  return server
}
