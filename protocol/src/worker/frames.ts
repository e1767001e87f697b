/**
 * The headers of the worker protocol's frames, for both sides; `worker/README.md` tells the conversation.
 * Made from `worker/frames.schema.json` by `npm run generate -w protocol`; a test keeps the two equal.
 * Long on purpose: it is printed from one schema.
 */

/** What went wrong: the error's class and its message. */
export interface Failure {
  /** Name of the class, such as `GraphRecursionError`; `ClaimLost` and `UnknownMethod` are the protocol's own. */
  readonly error: string
  readonly message: string
}

/** Why a graph did not load. */
export interface GraphError {
  readonly name: string
  readonly message: string
  readonly stack?: string
  /** A few source lines around the fault, for a person. */
  readonly code_frame?: string
}

/** How user code reaches its own server over HTTP. */
export interface Loopback {
  /** Path of the server's own Unix socket. */
  readonly socket_path: string
  /** What requests there carry as `x-superstep-credential`; it also signs the tickets of the requests that the server gives to the app. */
  readonly credential: string
}

/** One channel's value in one version; its payload line is the value. */
export interface Blob {
  readonly channel: string
  readonly version: string
  /** `json`: the line is the JSON text. `empty`: an empty line. Any other: base64. */
  readonly type: string
}

/** One pending write of a task; its payload line is the value, encoded as a blob's. */
export interface Write {
  readonly task_id: string
  readonly task_path: string
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

/** What an auth module answers a request with instead of letting it in. */
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

/** Answers `load`: which graphs can run, and why the others cannot. */
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
  /** The auth module is there. */
  readonly auth?: {
    /** Keys of its `on` handlers, such as `threads:create`, `store` or `*`. */
    readonly handlers: readonly string[]
  }
  /** Why the auth module did not load. */
  readonly auth_error?: GraphError
  /** The HTTP app listens. */
  readonly app?: {
    readonly socket_path: string
  }
  /** Why the HTTP app did not load. */
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
  readonly error?: Failure
  /** Where the error was thrown: for the server's log alone, never for clients. */
  readonly stack?: string
  /** Names of the nodes that would run next. */
  readonly next?: readonly string[]
  readonly payload: readonly ("values" | "interrupts")[]
}

/** Answers `ping`. */
export interface PongFrame {
  readonly type: "pong"
  readonly nonce: string
}

/** How much the worker has to do; sent several times a second while it executes runs. */
export interface LoadReportFrame {
  readonly type: "load_report"
  /** The part of the time since the last report in which it computed. */
  readonly busy: number
  /** Resident memory of the process, in megabytes. */
  readonly memory_mb: number
}

/** One checkpoint, the latest of the namespace without `checkpoint_id`. */
export interface CheckpointGetCall {
  readonly type: "call"
  readonly call_id: string
  readonly method: "checkpoint.get"
  readonly thread_id: string
  readonly checkpoint_ns: string
  readonly checkpoint_id?: string
}

/** Checkpoints, newest first. */
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

/** What delta channels are rebuilt from; lines: one `blob` each, one `write` each. */
export interface DeltaHistory {
  /** The nearest stored value of each channel that has one. */
  readonly blobs: readonly Blob[]
  /** What was written since, oldest first. */
  readonly writes: readonly Write[]
}

/** What the ancestors of a checkpoint hold of channels that have no stored value at it. */
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
  /** The graph goes on meanwhile: the write may wait a moment for others. */
  readonly may_wait?: boolean
  readonly checkpoint_id: string
  readonly parent_checkpoint_id?: string
  readonly blobs: readonly Blob[]
  readonly payload: readonly ("checkpoint" | "metadata" | "blob")[]
}

/** Saves what a task wrote, before its super-step is over. */
export interface CheckpointPutWritesCall {
  readonly type: "call"
  readonly call_id: string
  readonly method: "checkpoint.put_writes"
  readonly run_id: string
  readonly claim_id: string
  readonly thread_id: string
  readonly checkpoint_ns: string
  /** The graph goes on meanwhile: the write may wait a moment for others. */
  readonly may_wait?: boolean
  readonly checkpoint_id: string
  readonly writes: readonly Write[]
  readonly payload: readonly "write"[]
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
  readonly durability: "sync" | "async" | "exit"
  readonly interrupt_before?: "*" | readonly string[]
  readonly interrupt_after?: "*" | readonly string[]
  /** False: the thread has none, so the worker need not ask. */
  readonly has_checkpoint: boolean
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

/** Are you there? */
export interface PingFrame {
  readonly type: "ping"
  readonly nonce: string
}

/** Stop every run after its super-step; each ends with `done`, status `drained`. */
export interface DrainFrame {
  readonly type: "drain"
}

/** Finish nothing, exit 0. */
export interface StopFrame {
  readonly type: "stop"
}

/** The state of a thread as the graph sees it. */
export interface GraphStateCall {
  readonly type: "call"
  readonly call_id: string
  readonly method: "graph.state"
  readonly graph_id: string
  readonly thread_id: string
  readonly checkpoint_ns: string
  readonly checkpoint_id?: string
  readonly subgraphs: boolean
  /** Only these fields of the ThreadState; `values.x` is one value. */
  readonly select?: readonly string[]
  readonly payload: readonly "config"[]
}

/** Earlier states of a thread, newest first. */
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

/** Works out updates of a thread's state and writes nothing: the server commits what comes back, or not. */
export interface GraphUpdateStateCall {
  readonly type: "call"
  readonly call_id: string
  readonly method: "graph.update_state"
  readonly graph_id: string
  readonly thread_id: string
  readonly checkpoint_ns: string
  /** The checkpoint that is updated; the newest unless told. */
  readonly checkpoint_id?: string
  readonly payload: readonly ("config" | "supersteps")[]
}

/** Vectors of texts, by the project's own embedding. */
export interface StoreEmbedCall {
  readonly type: "call"
  readonly call_id: string
  readonly method: "store.embed"
  /** `file:function`, the file relative to the project's folder, or `provider:model`. */
  readonly embed: string
  readonly payload: readonly "texts"[]
}

/** One write of an update, as `checkpoint.put` or `checkpoint.put_writes` of the call's thread would make it; its lines are theirs. */
export interface GatheredPut {
  readonly checkpoint_ns: string
  readonly checkpoint_id: string
  readonly parent_checkpoint_id?: string
  /** Of a checkpoint. */
  readonly blobs?: readonly Blob[]
  /** Of tasks; then it is no checkpoint. */
  readonly writes?: readonly Write[]
}

/** Who sent this request? Answered with `user`, or with a `denial`. */
export interface AuthenticateCall {
  readonly type: "call"
  readonly call_id: string
  readonly method: "auth.authenticate"
  readonly payload: readonly "request"[]
}

/** May this user do that? Answered with `value` and `filter`, or with a `denial`. */
export interface AuthorizeCall {
  readonly type: "call"
  readonly call_id: string
  readonly method: "auth.authorize"
  /** Such as `threads:create_run`. */
  readonly event: string
  /** Key of the handler to ask, one of those that `loaded` named. */
  readonly handler: string
  readonly payload: readonly ("value" | "user")[]
}

/** The nodes and edges of a graph. */
export interface GraphDrawCall {
  readonly type: "call"
  readonly call_id: string
  readonly method: "graph.draw"
  readonly graph_id: string
  /** Whether subgraphs are drawn too, or how many levels of them. */
  readonly xray: boolean | number
  readonly payload: readonly "config"[]
}

/** The JSON Schemas that a graph itself tells; null for what only its source tells. */
export interface GraphSchemasCall {
  readonly type: "call"
  readonly call_id: string
  readonly method: "graph.schemas"
  readonly graph_id: string
  readonly payload: readonly "config"[]
}

/** The graphs inside a graph with their schemas. */
export interface GraphSubgraphsCall {
  readonly type: "call"
  readonly call_id: string
  readonly method: "graph.subgraphs"
  readonly graph_id: string
  /** Only this one, such as `outer|inner`, and with `recurse` those in it. */
  readonly namespace?: string
  /** Whether graphs inside subgraphs are told too. */
  readonly recurse: boolean
  readonly payload: readonly "config"[]
}

/** Answers a `call`. */
export interface ReplyFrame {
  readonly type: "reply"
  readonly call_id: string
  readonly tuple?: CheckpointTuple
  readonly tuples?: readonly CheckpointTuple[]
  readonly history?: DeltaHistory
  /** Of `graph.update_state`: what the update made. */
  readonly checkpoint?: Readonly<Record<string, unknown>>
  readonly puts?: readonly GatheredPut[]
  readonly payload?: readonly (
    | "checkpoint"
    | "metadata"
    | "blob"
    | "write"
    | "results"
    | "state"
    | "states"
    | "graph"
    | "schemas"
    | "subgraphs"
    | "values"
    | "interrupts"
    | "user"
    | "value"
    | "filter"
    | "vectors"
  )[]
  readonly denial?: Denial
}

/** A `call` failed. */
export interface FailureFrame {
  readonly type: "failure"
  readonly call_id: string
  readonly error: Failure
}

/** What a worker asks the server. */
export type WorkerCall =
  | CheckpointGetCall
  | CheckpointListCall
  | CheckpointAncestorsCall
  | CheckpointPutCall
  | CheckpointPutWritesCall
  | StoreBatchCall

/** What the server asks a worker. */
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

/** Headers that a worker sends. */
export type WorkerFrame =
  | HelloFrame
  | LoadedFrame
  | EventFrame
  | DoneFrame
  | PongFrame
  | LoadReportFrame
  | WorkerCall
  | ReplyFrame
  | FailureFrame

/** Headers that the server sends. */
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
