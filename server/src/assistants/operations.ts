/** Operations on assistants: the only entry point for routes, runs and tests. */
import type { Database, Db } from "@superstep/toolkit/db/database"
import { Conflict, NotFound } from "@superstep/toolkit/errors/errors"
import { parseJson, toJsonText } from "@superstep/toolkit/http/json"
import { v7 as uuidv7 } from "uuid"
import type { Caller } from "../auth/caller.js"
import { createOrFind } from "../auth/create-or-find.js"
import type { Page } from "../http/pagination.js"
import { requireHeld } from "../workers/held-numbers.js"
import type { LoadReport, Workers } from "../workers/port.js"
import {
  type Assistant,
  type AssistantRow,
  type AssistantVersionRow,
  assistantIdOf,
  systemAssistant,
  systemAssistantId,
} from "./assistant.js"
import {
  type AssistantSearch,
  countAssistants as countInDatabase,
  findAssistant,
  findAssistantRow,
  findTakenId,
  findVersions,
  insertAssistant,
  insertVersion,
  lockAssistant,
  restoreVersion,
  searchAssistants as searchInDatabase,
} from "./queries.js"
import type { AssistantCountBody, AssistantPatchBody, AssistantSearchBody, NewAssistantBody } from "./schema.js"

export interface KnownAssistants {
  assistant(assistantId: string): Assistant | undefined
  noteAssistant(assistant: Assistant): void
}

/** What the operations need. */
export interface Assistants {
  readonly db: Database
  readonly workers: Pick<Workers, "report">
  /** Assistants as they were read last. Given only where a change since then is noticed (`begin_run`). */
  readonly known?: KnownAssistants | undefined
}

/**
 * Finds the assistant that a run names by its id or by its graph's name.
 * @param report  the loaded graphs; an assistant of any other graph cannot run
 * @throws Conflict  its graph did not load; the message has the reason
 * @throws NotFound  with the message of the recording `error-unknown-assistant.txt`
 */
export async function resolveAssistant(
  { db, known }: Pick<Assistants, "known"> & { readonly db: Db },
  name: string,
  { graphs: graphIds, failed }: LoadReport,
): Promise<Assistant> {
  const assistantId = assistantIdOf(name, graphIds)
  const remembered = known?.assistant(assistantId)
  if (remembered && graphIds.includes(remembered.graphId)) return remembered
  const found = await findAssistant(db, assistantId)
  // The assistant of a graph has no row yet if the graph has just been loaded, or the unit does not serve yet.
  const assistant = found ?? (graphIds.includes(name) ? systemAssistant(name) : undefined)
  if (assistant && graphIds.includes(assistant.graphId)) {
    if (found) known?.noteAssistant(found)
    return assistant
  }
  const refusal = failed.find(({ graphId }) => graphId === (assistant?.graphId ?? name))
  if (refusal)
    throw new Conflict(`the graph "${refusal.graphId}" did not load: ${refusal.message}`, "graph_unavailable")
  throw new NotFound(
    `No assistant found for "${name}". Make sure the assistant ID is for a valid assistant or a valid graph ID.`,
  )
}

/**
 * The assistant that a run or a cron of this caller names. A graph's own assistant has no owner, and a rule that requires an owner must
 * not hide it (agent-server-api §6.2.2).
 * @throws NotFound  no such assistant, or the caller may not use it
 */
export async function usableAssistant(parts: Assistants, caller: Caller, name: string): Promise<Assistant> {
  const { db, workers } = parts
  const { filter } = await caller.authorize("assistants:read", { assistant_id: name })
  const assistant = await resolveAssistant(parts, name, workers.report())
  const { assistantId, graphId } = assistant
  if (filter === undefined || assistantId === systemAssistantId(graphId)) return assistant
  if (await findAssistantRow(db, assistantId, filter)) return assistant
  throw new NotFound(
    `No assistant found for "${name}". Make sure the assistant ID is for a valid assistant or a valid graph ID.`,
  )
}

/**
 * Checks whether the caller may create an assistant.
 * @returns a function that creates it in version 1, or returns the existing one if the client allows it. It throws `Conflict` when the id
 *          is taken, also by an assistant that the caller may not see
 * @throws NotFound  no such graph
 */
export async function prepareAssistant(
  parts: Assistants,
  caller: Caller,
  body: NewAssistantBody,
): Promise<(db: Db) => Promise<AssistantRow>> {
  const { value, filter } = await caller.authorize("assistants:create", {
    assistant_id: body.assistant_id ?? uuidv7(),
    graph_id: body.graph_id,
    config: body.config ?? {},
    context: body.context ?? {},
    metadata: body.metadata ?? {},
    if_exists: body.if_exists ?? "raise",
    name: body.name ?? "Untitled",
    description: body.description ?? null,
  })
  requireGraph(parts, value.graph_id)
  const { assistant_id: assistantId, graph_id: graphId, name, description, if_exists } = value
  requireHeldBy(parts, graphId, value)
  return async (db) => {
    const assistant = await createOrFind({
      create: () => insertAssistant(db, assistantId, { graphId, name, description, ...jsonOf(value) }),
      find: () => findTakenId(db, assistantId, filter),
      mayExist: if_exists === "do_nothing",
    })
    if (!assistant) throw new Conflict("Assistant already exists", "assistant_exists")
    return assistant
  }
}

/** @throws NotFound  there is none, or the caller may not see it */
export async function getAssistant(parts: Assistants, caller: Caller, name: string): Promise<AssistantRow> {
  const assistantId = idOf(parts, name)
  const { filter } = await caller.authorize("assistants:read", { assistant_id: assistantId })
  return existing(await findAssistantRow(parts.db, assistantId, filter))
}

/**
 * Changes an assistant. Every call makes a new version, even if it changes nothing (agent-server-api §4.5). Metadata is merged;
 * other given fields replace the former values.
 * @returns a function that changes it. It throws `NotFound` when there is no such assistant
 * @throws NotFound  no such graph
 */
export async function prepareUpdate(
  parts: Assistants,
  caller: Caller,
  name: string,
  patch: AssistantPatchBody,
): Promise<(db: Database) => Promise<AssistantRow>> {
  const given = Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== null && value !== undefined))
  const { value, filter } = await caller.authorize("assistants:update", {
    assistant_id: idOf(parts, name),
    ...(given as Given<AssistantPatchBody>),
  })
  if (value.graph_id !== undefined) requireGraph(parts, value.graph_id)
  const update = async (tx: Db): Promise<AssistantRow> => {
    const before = existing(await lockAssistant(tx, value.assistant_id, filter))
    requireHeldBy(parts, value.graph_id ?? before.graph_id, value)
    const { config, context, metadata } = jsonOf(value)
    const after = await insertVersion(tx, before.assistant_id, {
      graphId: value.graph_id ?? before.graph_id,
      name: value.name ?? before.name,
      description: value.description ?? before.description,
      config: value.config ? config : before.config,
      context: value.context ? context : before.context,
      metadata: value.metadata ? mergedMetadata(before.metadata, metadata) : before.metadata,
    })
    return existing(after)
  }
  return (db) => db.transaction(update)
}

type Given<Body> = { [Key in keyof Body]?: NonNullable<Body[Key]> }

/** Merges one level deep. Not called for unchanged metadata, which keeps its text. */
const mergedMetadata = (before: string, changes: string): string =>
  toJsonText({ ...parseJson(before), ...parseJson(changes) })

/** @returns a page of assistants, and their total number */
export async function searchAssistants(
  { db }: Assistants,
  caller: Caller,
  body: AssistantSearchBody,
): Promise<{ rows: AssistantRow[]; total: number }> {
  const { limit, offset } = body
  const search = await permittedSearch(caller, body, { limit, offset })
  const order = { sortBy: body.sort_by ?? "created_at", sortOrder: body.sort_order ?? "desc" }
  const [rows, total] = await Promise.all([
    searchInDatabase(db, search, { ...order, limit, offset }),
    countInDatabase(db, search),
  ])
  return { rows, total }
}

export const countAssistants = async ({ db }: Assistants, caller: Caller, body: AssistantCountBody): Promise<number> =>
  countInDatabase(db, await permittedSearch(caller, body, { limit: 0, offset: 0 }))

async function permittedSearch(caller: Caller, body: AssistantCountBody, page: Page): Promise<AssistantSearch> {
  const { graph_id, metadata, name } = body
  const { value, filter } = await caller.authorize("assistants:search", {
    graph_id: graph_id ?? undefined,
    metadata: metadata ?? undefined,
    ...page,
  })
  return {
    metadata: value.metadata && toJsonText(value.metadata),
    graphId: value.graph_id,
    name: name ?? undefined,
    filter,
  }
}

/** An assistant's versions, newest first. @throws NotFound  there is no such assistant, or the caller may not see it */
export async function getVersions(
  parts: Assistants,
  caller: Caller,
  name: string,
  { metadata, limit, offset }: { metadata: Readonly<Record<string, unknown>> | undefined } & Page,
): Promise<AssistantVersionRow[]> {
  const { assistant_id: assistantId } = await getAssistant(parts, caller, name)
  const versions = await findVersions(parts.db, {
    assistantId,
    metadata: metadata && toJsonText(metadata),
    limit,
    offset,
  })
  // The assistant may have been deleted after it was found.
  if (versions.length === 0) await getAssistant(parts, caller, name)
  return versions
}

/**
 * Makes a version the current one, with all its fields: JavaScript's dev server restores only half of them
 * (agent-server-api §(b).2, 13).
 * @throws NotFound  there is no such assistant or version
 */
export async function setLatest(
  parts: Assistants,
  caller: Caller,
  name: string,
  version: number,
): Promise<AssistantRow> {
  const { value, filter } = await caller.authorize("assistants:update", { assistant_id: idOf(parts, name), version })
  const { assistant_id: assistantId } = value
  const restored = await restoreVersion(parts.db, { assistantId, version: value.version }, filter)
  if (restored) return restored
  existing(await findAssistantRow(parts.db, assistantId, filter))
  throw new NotFound("Assistant version not found")
}

const idOf = ({ workers }: Assistants, name: string): string => assistantIdOf(name, workers.report().graphs)

function existing(row: AssistantRow | undefined): AssistantRow {
  if (!row) throw new NotFound("Assistant not found")
  return row
}

function requireGraph({ workers }: Assistants, graphId: string): void {
  const { graphs } = workers.report()
  if (graphs.includes(graphId)) return
  throw new NotFound(`Graph "${graphId}" not found: this server has ${graphs.join(", ") || "none"}`)
}

/** @throws InvalidInput  the graph gets a number that it cannot hold */
function requireHeldBy({ workers }: Assistants, graphId: string, { config, context, metadata }: AssistantJson): void {
  const value = { config, context, metadata }
  requireHeld(workers.report().languages?.get(graphId), [{ path: ["body"], value }])
}

interface AssistantJson {
  readonly config?: unknown
  readonly context?: unknown
  readonly metadata?: unknown
}

const jsonOf = ({ config, context, metadata }: AssistantJson) => ({
  config: toJsonText(config ?? {}),
  context: toJsonText(context ?? {}),
  metadata: toJsonText(metadata ?? {}),
})
