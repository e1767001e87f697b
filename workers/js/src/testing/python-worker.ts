/** The Python worker with its test graphs, if a suitable Python is installed. */
import { after, before } from "node:test"
import { readGraphs } from "../loading/langgraph-json.js"
import { FakeServer } from "./fake-server.js"

/** This file runs from `workers/js/dist/testing`. */
export const worker = new URL("../../../python/", import.meta.url).pathname

export const { project, graphs: pythonGraphs } = readGraphs(`${worker}testing/graphs/langgraph.json`, "python")

export const interpreter = process.env.SUPERSTEP_TEST_PYTHON ?? ""

/** Why a test cannot run, or false. */
export const skip = interpreter === "" && "no Python with langgraph: .ci/run installs it and sets SUPERSTEP_TEST_PYTHON"

export const startPythonWorker = (options: { readonly answers?: boolean; readonly interpreter?: string } = {}) =>
  FakeServer.start(`${worker}main.py`, { interpreter, ...options })

/** One worker for all tests of a file: an import of LangGraph takes a second. @param load  what it loads first */
export function pythonOfFile(
  load: (server: FakeServer) => Promise<unknown>,
  why: string | false = skip,
): () => FakeServer {
  let server: FakeServer
  before(async () => {
    if (why) return
    server = await startPythonWorker()
    await load(server)
  })
  after(() => server?.[Symbol.asyncDispose]())
  return () => server
}
