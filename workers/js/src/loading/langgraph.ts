/**
 * The part of a project's LangGraph that we use, for every version (1.0 to 1.7 have it). The project has its own copy, so
 * these are type declarations and not imports.
 */

export type Configurable = Readonly<Record<string, unknown>>

export interface RunnableConfig {
  readonly configurable?: Configurable
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly [option: string]: unknown
}

export interface Interrupt {
  readonly id?: string
  readonly value?: unknown
}

export interface TaskSnapshot {
  readonly id: string
  readonly name: string
  readonly path?: readonly unknown[]
  readonly error?: unknown
  readonly interrupts: readonly Interrupt[]
  readonly result?: unknown
  /** A subgraph's snapshot if these were requested, else its config; absent when the task is not a subgraph. */
  readonly state?: StateSnapshot | RunnableConfig
}

export interface StateSnapshot {
  readonly values: unknown
  readonly next: readonly string[]
  readonly config: RunnableConfig
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly createdAt?: string
  readonly parentConfig?: RunnableConfig
  readonly tasks: readonly TaskSnapshot[]
}

export interface Checkpoint {
  readonly v: number
  readonly id: string
  readonly ts: string
  readonly channel_values: Readonly<Record<string, unknown>>
  readonly channel_versions: Readonly<Record<string, number | string>>
  readonly versions_seen: Readonly<Record<string, Readonly<Record<string, number | string>>>>
}

export type PendingWrite = readonly [taskId: string, channel: string, value: unknown]

export interface CheckpointTuple {
  readonly config: RunnableConfig
  readonly checkpoint: Checkpoint
  readonly metadata: Readonly<Record<string, unknown>>
  readonly parentConfig?: RunnableConfig
  readonly pendingWrites: readonly PendingWrite[]
}

/** The data from which a delta channel is rebuilt: the writes since the nearest stored value, oldest first. */
export interface DeltaChannelHistory {
  readonly writes: readonly PendingWrite[]
  /** The nearest stored value. Absent: no ancestor stores the channel, which then starts empty. */
  readonly seed?: unknown
}

export interface Serde {
  dumpsTyped(value: unknown): Promise<[type: string, bytes: Uint8Array]>
  loadsTyped(type: string, data: Uint8Array | string): Promise<unknown>
}

export interface BaseCheckpointSaver {
  readonly serde: Serde
}

export interface BaseStore {
  batch(operations: readonly object[]): Promise<unknown[]>
}

/** The schemas that a graph was built with; absent for annotations. Private fields, which LangGraph's own tools read too. */
export interface GraphBuilder {
  readonly _schemaRuntimeDefinition?: unknown
  readonly _inputRuntimeDefinition?: unknown
  readonly _outputRuntimeDefinition?: unknown
  readonly _configRuntimeSchema?: unknown
}

export interface MetaRegistry {
  getExtendedChannelSchemas?(schema: object, options: object): object
}

/** One execution of one graph. It checks its control before each super-step; versions that cannot drain have none. */
export interface PregelLoop {
  /** Ends a super-step, asks for its checkpoint and prepares the next one. @returns  whether there is a next one */
  tick(options: unknown): Promise<boolean>
  /** Writes without a reply, and those that failed: an array or, in newer versions, a set. */
  readonly checkpointerPromises: Iterable<Promise<unknown>>
  control?: { readonly drainRequested: boolean; readonly drainReason?: string | undefined } | undefined
}

/** A compiled graph: `Pregel` or anything that extends it. */
export interface CompiledGraph {
  /** Breakpoints that it was compiled with. */
  readonly interruptBefore?: "*" | readonly string[]
  readonly interruptAfter?: "*" | readonly string[]
  /** By name. Absent where a project exports something else that can be streamed. */
  readonly nodes?: Readonly<Record<string, unknown>>
  stream(input: unknown, options: RunnableConfig): Promise<AsyncIterable<unknown>>
  streamEvents(input: unknown, options: RunnableConfig): AsyncIterable<unknown>
  getState(config: RunnableConfig, options?: { readonly subgraphs?: boolean }): Promise<StateSnapshot>
  bulkUpdateState(config: RunnableConfig, supersteps: readonly object[]): Promise<RunnableConfig>
  getStateHistory(config: RunnableConfig, options?: object): AsyncIterable<StateSnapshot>
  getGraphAsync(config: RunnableConfig): Promise<{ toJSON(): object }>
  getSubgraphsAsync(namespace?: string, recurse?: boolean): AsyncIterable<readonly [name: string, graph: CompiledGraph]>
  /** The builder that it was compiled from; a functional entrypoint has none. */
  readonly builder?: GraphBuilder
  /** Executes the graph. Private, but the only place that gets the loop (drain.ts, commit-barrier.ts). */
  _runLoop?: (params: { readonly loop: PregelLoop }) => Promise<void>
  /** Schemas of reducers and extras in addition to the zod types. */
  readonly _metaRegistry?: MetaRegistry
}

/** The exports of `@langchain/langgraph` that we call. */
export interface LangGraphModule {
  readonly BaseCheckpointSaver: abstract new () => BaseCheckpointSaver
  readonly BaseStore: abstract new () => object
  readonly Command: new (fields: object) => object
  readonly Send: new (node: string, args: unknown) => object
}
