/**
 * The config with which a graph is asked about a thread. A factory makes its graph by it, so it is that of the thread's last
 * run: a graph that is made with another one may lack the nodes that the thread waits in.
 */
import type { Db } from "@superstep/toolkit/db/database"
import { validate as isUuid } from "uuid"
import { type Caller, callerFields } from "../auth/caller.js"
import { findAssistantConfig, findLastRunConfig } from "./queries.js"
import { graphIdOf, metadataOf, type ThreadRow } from "./thread.js"

type Fields = Readonly<Record<string, unknown>>

/** What a thread says of itself, also while it is being made. */
export type ConfiguredThread = Pick<ThreadRow, "thread_id" | "metadata" | "graph_id" | "assistant_id" | "config">

// A question has a place of its own, and is no run: a checkpoint that names one is deleted with it (checkpoints/README, C6).
const ofOneRun = new Set(["run_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map"])

/**
 * The thread's own config with the `configurable` of the last run that has begun there, else with that of its assistant. Who asks
 * takes the place of who called then. Checkpoints of an update keep what is scalar in it as metadata, as those of a run do.
 * @param place  the checkpoint that is asked about
 * @returns JSON text
 */
export async function graphConfig(db: Db, thread: ConfiguredThread, caller: Caller, place: Fields): Promise<string> {
  const { configurable, ...config } = JSON.parse(thread.config)
  const given = await lastConfigurable(db, thread)
  const asker = caller.user === undefined ? {} : callerFields(caller.user)
  const graphId = graphIdOf(thread)
  return JSON.stringify({
    ...config,
    configurable: { ...configurable, ...given, ...asker, graph_id: graphId, ...place },
  })
}

async function lastConfigurable(db: Db, thread: ConfiguredThread): Promise<Fields> {
  const run = await findLastRunConfig(db, thread.thread_id)
  if (run !== undefined) return { ...withoutPlace(run.configurable), ...JSON.parse(run.caller ?? "{}") }
  const { assistant_id: assistantId } = metadataOf(thread)
  // A client's metadata may hold anything.
  const isId = typeof assistantId === "string" && isUuid(assistantId)
  return isId ? withoutPlace((await findAssistantConfig(db, assistantId))?.configurable) : {}
}

const withoutPlace = (configurable: string | null | undefined): Fields =>
  Object.fromEntries(Object.entries(JSON.parse(configurable ?? "{}")).filter(([key]) => !ofOneRun.has(key)))
