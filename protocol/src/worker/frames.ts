/**
 * The headers of the worker protocol's frames, for both sides; `worker/README.md` describes the protocol.
 * Generated from `protocol/worker/frames.schema.json` by `npm run generate -w protocol`; a test compares them.
 * Long on purpose: it is printed from one schema.
 */

/** An error: its class and its message. */
export interface Failure {
  /** Name of the class, such as `GraphRecursionError`; `ClaimLost` and `UnknownMethod` are the protocol's own. */
  readonly error: string
  readonly message: string
}

/** Why a run failed. The last three fields are those of LangGraph's `UnknownInterruptError`: an answer that was refused in strict mode. */
export interface RunFailure {
  /** Name of the class. */
  readonly error: string
  readonly message: string
  /** `not_pending`, `empty_map` or `ambiguous`. */
  readonly reason?: string
  /** The interrupts that the answer names and that are not open. */
  readonly interrupt_ids?: readonly string[]
  /** The interrupts that are open. */
  readonly pending_ids?: readonly string[]
}

/** The error of a graph that failed to load. */
export interface GraphError {
  readonly name: string
  readonly message: string
  readonly stack?: string
  /** A few source lines around the place of the error, for people. */
  readonly code_frame?: string
}

/** How user code reaches its own server over HTTP. */
export interface Loopback {
  /** Path of the server's own Unix socket. */
  readonly socket_path: string
  /** The credential that requests there send as `x-superstep-credential`; it also signs the tickets of requests that the server passes to the app. */
  readonly credential: string
}

/** One channel's value in one version; its payload line is the value. */
export interface Blob {
  readonly channel: string
  readonly version: string
  /** `json`: the line is the JSON text. `empty`: an empty line. Any other: base64. */
  readonly type: string
  /** Only in lists: an earlier tuple of the reply has the same channel, version and namespace; the line is empty. */
  readonly repeated?: true
}

/** One pending write of a task; its payload line is the value, encoded as a blob's. */
export interface Write {
  readonly task_id: string
  readonly task_path: string
  /** The place among the writes of the task; negative for LangGraph's own writes. */
  readonly idx: number
  readonly channel: string
  readonly type: string
}

/** A checkpoint with its values and pending writes; lines: `checkpoint`, `metadata`, one `blob` each, one `write` each. */
export interface CheckpointTuple {
  readonly checkpoint_ns: string
  readonly checkpoint_id: string
  readonly parent_checkpoint_id?: string
  readonly blobs: readonly Blob[]
  readonly writes: readonly Write[]
}

/** What a trace says about one piece of work: a graph, a node, a model call, a tool. Its payload line is the content. */
export interface Span {
  /** LangChain's id of the work: a UUID. The id of a model's message contains it. */
  readonly span_id: string
  /** Its place among the spans of the attempt, in the order in which they began, from 1. */
  readonly number: number
  /** The number of the span to which it belongs. Absent: it is the outermost one. */
  readonly parent?: number
  readonly kind: "graph" | "node" | "model" | "tool" | "retriever" | "chain"
  readonly name: string
  /** The path of the task in which it is, such as `sub:<task>|inner:<task>`; empty for the outermost graph. */
  readonly namespace: string
  /** Microseconds since 1970, of the worker's clock. */
  readonly started_us: number
  /** When a model that streams sent its first token. */
  readonly first_token_us?: number
  /** Absent while it is `running`. */
  readonly ended_us?: number
  /** `running`: it had not ended when the frame was sent. The span is sent again when it ends. */
  readonly status: "running" | "success" | "interrupted" | "cancelled" | "error"
  readonly error?: Failure
  /** The name of the model that was asked, where LangChain tells it. */
  readonly model?: string
  /** The name of the model that answered, where its answer has one: often the dated version of the asked one. */
  readonly response_model?: string
  /** Such as `openai`, as LangChain names it. */
  readonly provider?: string
  readonly input_tokens?: number
  readonly output_tokens?: number
  readonly tool_call_id?: string
  /** The content was too large: the places where something is missing say so. */
  readonly is_cut?: true
  /** Only in the outermost span: how many later spans of the attempt were left out, since it had too many. */
  readonly left_out?: number
}

/** The response with which an auth module rejects a request. */
export interface Denial {
  readonly status: number
  readonly message: string
  readonly headers: Readonly<Record<string, string>>
}

/** A worker's first frame. */
export interface HelloFrame {
  readonly type: "hello"
  readonly protocol: 1
  readonly worker_id: string
  readonly pid: number
  readonly language: string
  readonly language_version: string
}

/** The reply to `load`: the loaded graphs, and the errors of the others. */
export interface LoadedFrame {
  readonly type: "loaded"
  readonly graphs: readonly {
    readonly graph_id: string
  }[]
  readonly failed: readonly {
    readonly graph_id: string
    readonly error: GraphError
  }[]
  readonly langgraph_version?: string
  /** The loaded auth module. */
  readonly auth?: {
    /** Keys of its `on` handlers, such as `threads:create`, `store` or `*`. */
    readonly handlers: readonly string[]
  }
  /** The error of an auth module that failed to load. */
  readonly auth_error?: GraphError
  /** The loaded HTTP app. */
  readonly app?: {
    readonly socket_path: string
  }
  /** The error of an HTTP app that failed to load. */
  readonly app_error?: GraphError
}

/** One item of a run's stream, named as on the wire. */
export interface EventFrame {
  readonly type: "event"
  readonly run_id: string
  readonly claim_id: string
  /** `updates`, or with a namespace `updates|sub:<task>`. */
  readonly event: string
  readonly payload: readonly "data"[]
}

/** The run has ended, after all its events and calls. */
export interface DoneFrame {
  readonly type: "done"
  readonly run_id: string
  readonly claim_id: string
  readonly status: "success" | "interrupted" | "error" | "cancelled" | "drained"
  readonly error?: RunFailure
  /** The stack of the error, only for the server's log, never for clients. */
  readonly stack?: string
  /** Names of the nodes that would run next. */
  readonly next?: readonly string[]
  readonly payload: readonly ("values" | "interrupts")[]
}

/** A part of a run's trace (W12). Only for a run whose `trace` asks for it; nothing waits for it. */
export interface SpansFrame {
  readonly type: "spans"
  readonly run_id: string
  readonly claim_id: string
  readonly spans: readonly Span[]
  /** One for each span, in order: `{"input", "output"}`, or an empty line with any other `trace` than `full`. */
  readonly payload: readonly "content"[]
}

/** The reply to `ping`. */
export interface PongFrame {
  readonly type: "pong"
  readonly nonce: string
}

/** The worker's load; sent several times a second while it executes runs. */
export interface LoadReportFrame {
  readonly type: "load_report"
  /** The share of the time since the last report in which the worker computed, from 0 to 1. */
  readonly busy: number
  /** Resident memory of the process, in megabytes. */
  readonly memory_mb: number
}

/** Reads a checkpoint; without `checkpoint_id` the latest of the namespace. */
export interface CheckpointGetCall {
  readonly type: "call"
  readonly call_id: string
  readonly method: "checkpoint.get"
  readonly thread_id: string
  readonly checkpoint_ns: string
  readonly checkpoint_id?: string
}

/** Lists checkpoints, newest first. */
export interface CheckpointListCall {
  readonly type: "call"
  readonly call_id: string
  readonly method: "checkpoint.list"
  readonly thread_id: string
  readonly checkpoint_ns?: string
  /** Only checkpoints older than this id. */
  readonly before?: string
  readonly limit?: number
  /** Metadata that must match. */
  readonly filter?: Readonly<Record<string, unknown>>
}

/** The data from which delta channels are rebuilt; lines: one `blob` each, one `write` each. */
export interface DeltaHistory {
  /** The nearest stored value of each channel that has one. */
  readonly blobs: readonly Blob[]
  /** The later writes, oldest first. */
  readonly writes: readonly Write[]
}

/** Reads the values and writes of a checkpoint's ancestors, for channels without a stored value at the checkpoint. */
export interface CheckpointAncestorsCall {
  readonly type: "call"
  readonly call_id: string
  readonly method: "checkpoint.ancestors"
  readonly thread_id: string
  readonly checkpoint_ns: string
  readonly checkpoint_id?: string
  readonly channels: readonly string[]
}

/** Saves a checkpoint and the blobs whose version is new. */
export interface CheckpointPutCall {
  readonly type: "call"
  readonly call_id: string
  readonly method: "checkpoint.put"
  readonly run_id: string
  readonly claim_id: string
  readonly thread_id: string
  readonly checkpoint_ns: string
  /** The graph does not wait for the write, so the server may delay it briefly to commit it with others. */
  readonly may_wait?: boolean
  readonly checkpoint_id: string
  readonly parent_checkpoint_id?: string
  readonly blobs: readonly Blob[]
  readonly payload: readonly ("checkpoint" | "metadata" | "blob")[]
}

/** Saves the writes of a task before the end of its super-step. */
export interface CheckpointPutWritesCall {
  readonly type: "call"
  readonly call_id: string
  readonly method: "checkpoint.put_writes"
  readonly run_id: string
  readonly claim_id: string
  readonly thread_id: string
  readonly checkpoint_ns: string
  /** The graph does not wait for the write, so the server may delay it briefly to commit it with others. */
  readonly may_wait?: boolean
  readonly checkpoint_id: string
  readonly writes: readonly Write[]
  /** Absent when there are no writes. */
  readonly payload?: readonly "write"[]
}

/** Operations on the long-term memory, in order. */
export interface StoreBatchCall {
  readonly type: "call"
  readonly call_id: string
  readonly method: "store.batch"
  readonly run_id?: string
  readonly claim_id?: string
  readonly payload: readonly "operations"[]
}

/** Load these graphs; sent once, right after `hello`. */
export interface LoadFrame {
  readonly type: "load"
  /** Folder that graph paths are relative to. */
  readonly project: string
  /** `path:export` by graph id. */
  readonly graphs: Readonly<Record<string, string>>
  /** `path:export` of the project's auth module. Only the worker of the gate gets one, or an `app`. */
  readonly auth?: string
  /** `path:export` of the project's HTTP app. */
  readonly app?: string
  readonly loopback?: Loopback
}

/** Execute a run. */
export interface RunFrame {
  readonly type: "run"
  readonly run_id: string
  readonly claim_id: string
  readonly thread_id: string
  readonly attempt: number
  readonly graph_id: string
  /** Wire modes, such as `messages-tuple`. */
  readonly stream_modes: readonly string[]
  readonly stream_subgraphs: boolean
  /** True: the run also sends the events of the newer streaming protocol, named `protocol:<channel>`. Absent: false. */
  readonly protocol_events?: boolean
  readonly durability: "sync" | "async" | "exit"
  readonly interrupt_before?: "*" | readonly string[]
  readonly interrupt_after?: "*" | readonly string[]
  /** Send `spans`: `full` with what went in and out, `timings` without, `models` without and only of models. Absent: none. */
  readonly trace?: "models" | "timings" | "full"
  /** False: the thread has no checkpoint, so the worker need not request one. */
  readonly has_checkpoint: boolean
  /** What earlier attempts have saved of the command: its own writes (`update`, `goto`), or also that a task got an answer. */
  readonly command_saved?: "writes" | "answer"
  readonly payload: readonly ("input" | "command" | "config" | "context")[]
}

/** Stop a run; it ends with `done`, status `cancelled`. */
export interface CancelFrame {
  readonly type: "cancel"
  readonly run_id: string
  readonly claim_id: string
}

/** Send no more events of this run until `resume_events` (W9). */
export interface PauseEventsFrame {
  readonly type: "pause_events"
  readonly run_id: string
  readonly claim_id: string
}

/** Send the events of this run again. */
export interface ResumeEventsFrame {
  readonly type: "resume_events"
  readonly run_id: string
  readonly claim_id: string
}

/** Checks whether the worker responds. */
export interface PingFrame {
  readonly type: "ping"
  readonly nonce: string
}

/** Stop every run after its super-step; each ends with `done`, status `drained`. */
export interface DrainFrame {
  readonly type: "drain"
}

/** Exit with code 0 at once, without finishing anything. */
export interface StopFrame {
  readonly type: "stop"
}

/** Reads the state of a thread with its graph. */
export interface GraphStateCall {
  readonly type: "call"
  readonly call_id: string
  readonly method: "graph.state"
  readonly graph_id: string
  readonly thread_id: string
  readonly checkpoint_ns: string
  readonly checkpoint_id?: string
  /** The requested checkpoint, so that the worker need not request it; its lines follow `config`. */
  readonly tuple?: CheckpointTuple
  /** The id of a run of the thread that has not saved its input yet: a state with nothing next says that it will start. */
  readonly starting?: string
  readonly subgraphs: boolean
  /** Only these fields of the ThreadState; `values.x` selects one value. */
  readonly select?: readonly string[]
  readonly payload: readonly ("config" | "checkpoint" | "metadata" | "blob" | "write")[]
}

/** Reads earlier states of a thread, newest first. */
export interface GraphHistoryCall {
  readonly type: "call"
  readonly call_id: string
  readonly method: "graph.history"
  readonly graph_id: string
  readonly thread_id: string
  readonly checkpoint_ns: string
  readonly limit: number
  /** Only states older than this checkpoint id. */
  readonly before?: string
  /** Metadata that must match. */
  readonly filter?: Readonly<Record<string, unknown>>
  /** Only these fields of each ThreadState. */
  readonly select?: readonly string[]
  readonly payload: readonly "config"[]
}

/** Computes updates of a thread's state and writes nothing: the server commits the returned writes, or drops them. */
export interface GraphUpdateStateCall {
  readonly type: "call"
  readonly call_id: string
  readonly method: "graph.update_state"
  readonly graph_id: string
  readonly thread_id: string
  readonly checkpoint_ns: string
  /** The checkpoint to update; by default the newest. */
  readonly checkpoint_id?: string
  readonly payload: readonly ("config" | "supersteps")[]
}

/** Embeds texts with the project's own embedding. */
export interface StoreEmbedCall {
  readonly type: "call"
  readonly call_id: string
  readonly method: "store.embed"
  /** `file:function`, the file relative to the project's folder, or `provider:model`. */
  readonly embed: string
  readonly payload: readonly "texts"[]
}

/** One write of an update, with the fields and lines of `checkpoint.put` or `checkpoint.put_writes` for the call's thread. */
export interface GatheredPut {
  readonly checkpoint_ns: string
  readonly checkpoint_id: string
  readonly parent_checkpoint_id?: string
  /** Only for a checkpoint. */
  readonly blobs?: readonly Blob[]
  /** Only for writes of tasks. */
  readonly writes?: readonly Write[]
}

/** Authenticates a request. The reply has the `user` or a `denial`. */
export interface AuthenticateCall {
  readonly type: "call"
  readonly call_id: string
  readonly method: "auth.authenticate"
  readonly payload: readonly "request"[]
}

/** Authorizes a request of a user. The reply has `value` and `filter`, or a `denial`. */
export interface AuthorizeCall {
  readonly type: "call"
  readonly call_id: string
  readonly method: "auth.authorize"
  /** Such as `threads:create_run`. */
  readonly event: string
  /** Key of the handler to call, one of those in `loaded`. */
  readonly handler: string
  readonly payload: readonly ("value" | "user")[]
}

/** Reads the nodes and edges of a graph. */
export interface GraphDrawCall {
  readonly type: "call"
  readonly call_id: string
  readonly method: "graph.draw"
  readonly graph_id: string
  /** Whether subgraphs are drawn, too, or how many levels of them. */
  readonly xray: boolean | number
  readonly payload: readonly "config"[]
}

/** Reads the JSON Schemas that a graph provides at run time; null for schemas that only its source contains. */
export interface GraphSchemasCall {
  readonly type: "call"
  readonly call_id: string
  readonly method: "graph.schemas"
  readonly graph_id: string
  readonly payload: readonly "config"[]
}

/** Reads the subgraphs of a graph with their schemas. */
export interface GraphSubgraphsCall {
  readonly type: "call"
  readonly call_id: string
  readonly method: "graph.subgraphs"
  readonly graph_id: string
  /** Only this one, such as `outer|inner`, and with `recurse` those in it. */
  readonly namespace?: string
  /** Whether subgraphs of subgraphs are included. */
  readonly recurse: boolean
  readonly payload: readonly "config"[]
}

/** The reply to a `call`. */
export interface ReplyFrame {
  readonly type: "reply"
  readonly call_id: string
  readonly tuple?: CheckpointTuple
  readonly tuples?: readonly CheckpointTuple[]
  /** Only for `checkpoint.list`: there may be more tuples, older than the last one of this reply. */
  readonly more?: true
  readonly history?: DeltaHistory
  /** Only for `graph.update_state`: the checkpoint of the update. */
  readonly checkpoint?: Readonly<Record<string, unknown>>
  readonly puts?: readonly GatheredPut[]
  readonly payload?: readonly ("checkpoint" | "metadata" | "blob" | "write" | "results" | "state" | "states" | "graph" | "schemas" | "subgraphs" | "values" | "interrupts" | "user" | "value" | "filter" | "vectors")[]
  readonly denial?: Denial
}

/** The error of a failed `call`. */
export interface FailureFrame {
  readonly type: "failure"
  readonly call_id: string
  readonly error: Failure
}

/** What each call has. A call with an unknown method, or without valid fields, gets a `failure`. */
export interface AnyCall {
  readonly type: "call"
  readonly call_id: string
  readonly method: string
  readonly payload?: readonly string[]
}

/** Calls of a worker. */
export type WorkerCall =
  | CheckpointGetCall
  | CheckpointListCall
  | CheckpointAncestorsCall
  | CheckpointPutCall
  | CheckpointPutWritesCall
  | StoreBatchCall

/** Calls of the server. */
export type ServerCall =
  | GraphStateCall
  | GraphHistoryCall
  | GraphDrawCall
  | GraphSchemasCall
  | GraphSubgraphsCall
  | GraphUpdateStateCall
  | AuthenticateCall
  | AuthorizeCall
  | StoreEmbedCall

/** Headers of frames from a worker. */
export type WorkerFrame =
  | HelloFrame
  | LoadedFrame
  | EventFrame
  | DoneFrame
  | SpansFrame
  | PongFrame
  | LoadReportFrame
  | WorkerCall
  | ReplyFrame
  | FailureFrame

/** Headers of frames from the server. */
export type ServerFrame =
  | LoadFrame
  | RunFrame
  | CancelFrame
  | PauseEventsFrame
  | ResumeEventsFrame
  | PingFrame
  | DrainFrame
  | StopFrame
  | ServerCall
  | ReplyFrame
  | FailureFrame
