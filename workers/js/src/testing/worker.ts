/** The real worker with the test graphs loaded, for tests. */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { fileURLToPath } from "node:url"
import { readGraphs } from "../loading/langgraph-json.js"
import { isSince as isVersionSince } from "../loading/library.js"
import { FakeServer } from "./fake-server.js"

/** The repository's test graphs; this file runs from `workers/js/dist/testing`. */
export const graphsFolder = new URL("../../../../tests/graphs/", import.meta.url).pathname

/** The version of LangGraph that the test graphs use: the pinned one, or the newest (`npm test -- --newest`). */
export const langgraphVersion = versionOf("@langchain/langgraph")

/** Whether the test graphs' LangGraph has this version or a newer one. */
export const isSince = (version: string): boolean => isVersionSince(langgraphVersion, version)

function versionOf(name: string): string {
  const file = createRequire(graphsFolder).resolve(`${name}/package.json`)
  return JSON.parse(readFileSync(file, "utf8")).version
}

export const workerMain = fileURLToPath(import.meta.resolve("@superstep/worker-js/main"))

/** Starts a worker that has loaded these graphs of `tests/graphs`, or of another folder. */
export async function startWorker(...graphIds: string[]): Promise<FakeServer> {
  const { project, graphs } = readGraphs(`${graphsFolder}langgraph.json`)
  const server = await FakeServer.start(workerMain)
  await server.load(project, Object.fromEntries(graphIds.map((graphId) => [graphId, graphs[graphId] ?? ""])))
  return server
}
