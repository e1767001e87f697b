/** The Python worker with its test graphs, if a suitable Python is installed. */
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
