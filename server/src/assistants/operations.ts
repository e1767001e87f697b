import type { Db } from "@superstep/toolkit/db/database"
import { NotFound } from "@superstep/toolkit/errors/errors"
import { type Assistant, systemAssistant, systemAssistantId } from "./assistant.js"
import { findAssistant } from "./queries.js"

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/**
 * Finds the assistant that a client named by its id or by its graph's name.
 * @param graphIds  the graphs that are loaded; an assistant of any other graph cannot run
 * @throws NotFound  in the words of the recording `error-unknown-assistant.txt`
 */
export async function resolveAssistant(db: Db, name: string, graphIds: readonly string[]): Promise<Assistant> {
  const byGraph = graphIds.includes(name)
  const id = byGraph ? systemAssistantId(name) : name
  const found = uuid.test(id) ? await findAssistant(db, id) : undefined
  // A graph that was loaded a moment ago, or a unit that serves nothing yet, has no row for its assistant.
  const assistant = found ?? (byGraph ? systemAssistant(name) : undefined)
  if (assistant && graphIds.includes(assistant.graphId)) return assistant
  throw new NotFound(
    `No assistant found for "${name}". Make sure the assistant ID is for a valid assistant or a valid graph ID.`,
  )
}
