import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { type Assistant, systemAssistant } from "./assistant.js"

interface AssistantRow {
  readonly assistant_id: string
  readonly graph_id: string
  readonly config: string
  readonly context: string
  readonly metadata: string
}

export async function findAssistant(db: Db, assistantId: string): Promise<Assistant | undefined> {
  const row = await db.row<AssistantRow>(sql`
    select assistant_id, graph_id, config, context, metadata from assistants where assistant_id = ${assistantId}`)
  return (
    row && {
      assistantId: row.assistant_id,
      graphId: row.graph_id,
      config: JSON.parse(row.config),
      context: JSON.parse(row.context),
      metadata: JSON.parse(row.metadata),
    }
  )
}

/** Gives each graph its system assistant, and leaves those that are there as they are (agent-server-api §2.3). */
export const insertSystemAssistants = (db: Db, graphIds: readonly string[]): Promise<number> => {
  const assistants = graphIds.map(systemAssistant)
  return db.run(sql`
    insert into assistants (assistant_id, graph_id, name, metadata)
    select id, graph_id, graph_id, metadata::json from unnest(${assistants.map((a) => a.assistantId)}::uuid[],
      ${assistants.map((a) => a.graphId)}::text[], ${assistants.map((a) => JSON.stringify(a.metadata))}::text[])
      as system (id, graph_id, metadata)
    on conflict do nothing`)
}
