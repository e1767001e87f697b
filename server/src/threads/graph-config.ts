/**
 * The config for reading or updating a thread's state. A factory makes its graph from it, so it is the config of the thread's
 * last run: a graph made from another config may lack the nodes at which the thread waits.
 */
import type { Db } from "@superstep/toolkit/db/database"
import { parseJson, toJsonText } from "@superstep/toolkit/http/json"
import { validate as isUuid } from "uuid"
import { type Caller, callerFields } from "../auth/caller.js"
import { findAssistantConfig } from "./queries.js"
import { type ConfiguredThread, graphIdOf, metadataOf } from "./thread.js"

type Fields = Readonly<Record<string, unknown>>

// Keys that belong to one run. A read or an update has its own checkpoint, and is not a run: a checkpoint that names a run is
// deleted with it (checkpoints/README, C6).
const ofOneRun = new Set(["run_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map"])

/**
 * The thread's own config, with the `configurable` of the last run that has started there, or else of its assistant. The present
 * caller replaces the caller of that run. Checkpoints of an update keep its scalar values as metadata, like those of a run.
 * @param place  the requested checkpoint
 * @returns JSON text
 */
export async function graphConfig(db: Db, thread: ConfiguredThread, caller: Caller, place: Fields): Promise<string> {
  const { configurable, ...config } = parseJson(thread.config)
  const given = await lastConfigurable(db, thread)
  const asker = caller.user === undefined ? {} : callerFields(caller.user)
  const graphId = graphIdOf(thread)
  return toJsonText({
    ...config,
    configurable: { ...configurable, ...given, ...asker, graph_id: graphId, ...place },
  })
}

async function lastConfigurable(db: Db, thread: ConfiguredThread): Promise<Fields> {
  if (thread.last_run !== null) {
    const { configurable, caller } = parseJson(thread.last_run) as {
      configurable: Fields | null
      caller: Fields | null
    }
    return { ...withoutPlace(configurable), ...caller }
  }
  const { assistant_id: assistantId } = metadataOf(thread)
  // A client's metadata may contain anything.
  const isId = typeof assistantId === "string" && isUuid(assistantId)
  if (!isId) return {}
  const assistant = await findAssistantConfig(db, assistantId)
  return withoutPlace(parseJson(assistant?.configurable ?? "null"))
}

const withoutPlace = (configurable: Fields | null): Fields =>
  Object.fromEntries(Object.entries(configurable ?? {}).filter(([key]) => !ofOneRun.has(key)))
