/** The runs of this process, and the server's calls about threads; a slow or failing run never blocks the others. */
import type {
  CancelFrame,
  Failure,
  GraphError,
  LoadFrame,
  ReplyFrame,
  RunFrame,
  ServerCall,
} from "@superstep/protocol/worker/frames"
import type { Connection, IncomingFrame } from "../connection/connection.js"
import { LoadReports } from "../connection/load-reports.js"
import { describeError } from "../errors/describe-error.js"
import type { Gate } from "../gate/gate.js"
import { offerLoopback } from "../gate/loopback.js"
import type { LoadedGraph } from "../loading/loader.js"
import { loadGraphs, openProject } from "../loading/loader.js"
import { drawGraph, graphSchemas, graphSubgraphs } from "../schemas/graph-questions.js"
import { embedTexts } from "../store/embedding.js"
import { graphHistory, graphState } from "../threads/thread-questions.js"
import { graphUpdateState } from "../threads/thread-update.js"
import { serialise } from "../values/serialise.js"
import { Run } from "./run.js"
import { endOutput } from "./run-output.js"
import { parseRun } from "./run-request.js"

export class Runner {
  readonly #connection: Connection
  readonly #gate: Gate
  /** By claim: a run that was lost and came back has another claim. */
  readonly #runs = new Map<string, Run>()
  readonly #loadReports: LoadReports
  #graphs: ReadonlyMap<string, LoadedGraph> = new Map()
  #failed: ReadonlyMap<string, GraphError> = new Map()
  #project = ""
  #loading: Promise<void> = Promise.resolve()

  constructor(connection: Connection, gate: Gate) {
    this.#connection = connection
    this.#gate = gate
    this.#loadReports = new LoadReports(connection)
  }

  onFrame(frame: IncomingFrame, payload: readonly Buffer[]): void {
    switch (frame.type) {
      case "load":
        this.#loading = this.#load(frame)
        return
      case "run":
        void this.#run(frame, payload)
        return
      case "cancel":
        this.#cancel(frame)
        return
      case "pause_events":
        this.#runs.get(frame.claim_id)?.pauseEvents()
        return
      case "resume_events":
        this.#runs.get(frame.claim_id)?.resumeEvents()
        return
      case "drain":
        for (const run of this.#runs.values()) run.drain()
        return
      case "call":
        void this.#answer(frame, payload)
        return
      case "ping":
        this.#connection.send({ type: "pong", nonce: frame.nonce })
        return
      case "stop":
        process.exit(0)
    }
  }

  async #load(frame: LoadFrame): Promise<void> {
    if (frame.loopback !== undefined) offerLoopback(frame.loopback)
    this.#project = frame.project
    await openProject(frame.project, frame.graphs)
    const { graphs, failed } = await loadGraphs(frame.project, frame.graphs)
    const gate = await this.#gate.load(frame)
    this.#graphs = graphs
    this.#failed = new Map(failed.map(({ graph_id, error }) => [graph_id, error]))
    const version = [...graphs.values()].find(({ library }) => library.version !== undefined)?.library.version
    this.#connection.send({
      type: "loaded",
      graphs: [...graphs.keys()].map((graph_id) => ({ graph_id })),
      failed,
      ...gate,
      ...(version === undefined ? {} : { langgraph_version: version }),
    })
  }

  async #run(frame: RunFrame, payload: readonly Buffer[]): Promise<void> {
    const { run_id, claim_id, graph_id } = frame
    this.#loadReports.start()
    try {
      const run = new Run(parseRun(frame, payload), this.#connection)
      this.#runs.set(claim_id, run)
      await this.#loading
      await run.execute(this.#graph(graph_id))
    } catch (error) {
      // The run never started: its graph is missing, or its order cannot be parsed.
      const failure = { status: "error", error: describeError(error), payload: ["values", "interrupts"] } as const
      this.#connection.send({ type: "done", run_id, claim_id, ...failure }, ["", "{}"])
    } finally {
      const run = this.#runs.get(claim_id)
      if (run !== undefined) endOutput(run)
      this.#runs.delete(claim_id)
      if (this.#runs.size === 0) this.#loadReports.stop()
    }
  }

  #cancel({ claim_id }: CancelFrame): void {
    this.#runs.get(claim_id)?.cancel()
  }

  async #answer(call: ServerCall, payload: readonly Buffer[]): Promise<void> {
    const { call_id } = call
    try {
      await this.#loading
      const { fields, lines } = await this.#answerOf(call, payload)
      this.#connection.send({ type: "reply", call_id, ...fields }, lines)
    } catch (error) {
      const failure: Failure = describeError(error)
      this.#connection.send({ type: "failure", call_id, error: failure })
    }
  }

  async #answerOf(call: ServerCall, payload: readonly Buffer[]): Promise<Answer> {
    if ("graph_id" in call) return await this.#answerOfGraph(this.#graph(call.graph_id), call, payload)
    if (call.method === "store.embed") return oneLine("vectors", await embedTexts(this.#project, call, payload))
    return await this.#gate.answer(call, payload)
  }

  async #answerOfGraph(graph: LoadedGraph, call: GraphCall, payload: readonly Buffer[]): Promise<Answer> {
    switch (call.method) {
      case "graph.state":
        return oneLine("state", await graphState(graph, call, payload, this.#connection))
      case "graph.history":
        return oneLine("states", await graphHistory(graph, call, payload, this.#connection))
      case "graph.update_state":
        return await graphUpdateState(graph, call, payload, this.#connection)
      case "graph.draw":
        return oneLine("graph", await drawGraph(graph, call, payload))
      case "graph.schemas":
        return oneLine("schemas", await graphSchemas(graph, call, payload))
      case "graph.subgraphs":
        return oneLine("subgraphs", await graphSubgraphs(graph, call, payload))
    }
  }

  #graph(graphId: string): LoadedGraph {
    const graph = this.#graphs.get(graphId)
    if (graph !== undefined) return graph
    const failed = this.#failed.get(graphId)
    throw new Error(
      failed === undefined ? `there is no graph "${graphId}"` : `graph "${graphId}" did not load: ${failed.message}`,
    )
  }
}

/** A call of a graph. */
type GraphCall = Extract<ServerCall, { readonly graph_id: string }>

/** A reply's content: fields of its header and its payload lines. */
interface Answer {
  readonly fields: Omit<ReplyFrame, "type" | "call_id">
  readonly lines: readonly string[]
}

function oneLine(name: "state" | "states" | "vectors" | "graph" | "schemas" | "subgraphs", value: unknown): Answer {
  return { fields: { payload: [name] }, lines: [serialise(value)] }
}
