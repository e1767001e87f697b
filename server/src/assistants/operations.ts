/** What can be done with assistants: the one way in for routes, runs and tests. */
import type { Database, Db } from "@superstep/toolkit/db/database"
import { Conflict, NotFound } from "@superstep/toolkit/errors/errors"
import { v7 as uuidv7 } from "uuid"
import type { Caller } from "../auth/caller.js"
import type { Page } from "../http/pagination.js"
import type { LoadReport, Workers } from "../workers/port.js"
import {
  type Assistant,
  type AssistantRow,
  type AssistantVersionRow,
  assistantIdOf,
  systemAssistant,
} from "./assistant.js"
import {
  type AssistantSearch,
  countAssistants as countInDatabase,
  findAssistant,
  findAssistantRow,
  findVersions,
  insertAssistant,
  insertVersion,
  lockAssistant,
  restoreVersion,
  searchAssistants as searchInDatabase,
} from "./queries.js"
import type { AssistantCountBody, AssistantPatchBody, AssistantSearchBody, NewAssistantBody } from "./schema.js"

/** What the operations stand on. */
export interface Assistants {
  readonly db: Database
  readonly workers: Pick<Workers, "report">
}

/**
 * Finds the assistant that a run names by its id or by its graph's name.
 * @param report  what is loaded; an assistant of any other graph cannot run
 * @throws Conflict  its graph did not load, and why
 * @throws NotFound  in the words of the recording `error-unknown-assistant.txt`
 */
export async function resolveAssistant(
  db: Db,
  name: string,
  { graphs: graphIds, failed }: LoadReport,
): Promise<Assistant> {
  const found = await findAssistant(db, assistantIdOf(name, graphIds))
  // A graph that was loaded a moment ago, or a unit that serves nothing yet, has no row for its assistant.
  const assistant = found ?? (graphIds.includes(name) ? systemAssistant(name) : undefined)
  if (assistant && graphIds.includes(assistant.graphId)) return assistant
  const refusal = failed.find(({ graphId }) => graphId === (assistant?.graphId ?? name))
  if (refusal)
    throw new Conflict(`the graph "${refusal.graphId}" did not load: ${refusal.message}`, "graph_unavailable")
  throw new NotFound(
    `No assistant found for "${name}". Make sure the assistant ID is for a valid assistant or a valid graph ID.`,
  )
}

/** Makes an assistant in version 1, or gives the one that is there when the client allows it. */
export const createAssistant = async (
  parts: Assistants,
  caller: Caller,
  body: NewAssistantBody,
): Promise<AssistantRow> => (await prepareAssistant(parts, caller, body))(parts.db)

/**
 * Asks whether the caller may make an assistant.
 * @returns what makes it: it throws `Conflict` when the id is taken; also when the caller may not see by what
 * @throws NotFound  there is no such graph
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
  return async (db) => {
    const created = await insertAssistant(db, assistantId, { graphId, name, description, ...jsonOf(value) })
    if (created) return created
    const found = if_exists === "do_nothing" ? await findAssistantRow(db, assistantId, filter) : undefined
    if (found) return found
    throw new Conflict("Assistant already exists", "assistant_exists")
  }
}

/** @throws NotFound  there is none, or the caller may not see it */
export async function getAssistant(parts: Assistants, caller: Caller, name: string): Promise<AssistantRow> {
  const assistantId = idOf(parts, name)
  const { filter } = await caller.authorize("assistants:read", { assistant_id: assistantId })
  return existing(await findAssistantRow(parts.db, assistantId, filter))
}

/**
 * Changes an assistant; every call makes a new version, also one that changes nothing (agent-server-api §4.5). Metadata
 * is merged, whatever else is given replaces what was.
 * @throws NotFound  there is no such assistant, or no such graph
 */
export async function updateAssistant(
  parts: Assistants,
  caller: Caller,
  name: string,
  patch: AssistantPatchBody,
): Promise<AssistantRow> {
  const given = Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== null && value !== undefined))
  const { value, filter } = await caller.authorize("assistants:update", {
    assistant_id: idOf(parts, name),
    ...(given as Given<AssistantPatchBody>),
  })
  if (value.graph_id !== undefined) requireGraph(parts, value.graph_id)
  return parts.db.transaction(async (tx) => {
    const before = existing(await lockAssistant(tx, value.assistant_id, filter))
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
  })
}

type Given<Body> = { [Key in keyof Body]?: NonNullable<Body[Key]> }

/** Merged one level deep. A metadata that is not touched keeps its text. */
const mergedMetadata = (before: string, changes: string): string =>
  JSON.stringify({ ...JSON.parse(before), ...JSON.parse(changes) })

/** @returns the assistants of the page, and how many there are in all */
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
    metadata: value.metadata && JSON.stringify(value.metadata),
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
  return findVersions(parts.db, { assistantId, metadata: metadata && JSON.stringify(metadata), limit, offset })
}

/**
 * Makes a version the current one, with everything that it was: JavaScript's dev server forgets half of it
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

const jsonOf = ({ config, context, metadata }: { config?: unknown; context?: unknown; metadata?: unknown }) => ({
  config: JSON.stringify(config ?? {}),
  context: JSON.stringify(context ?? {}),
  metadata: JSON.stringify(metadata ?? {}),
})
