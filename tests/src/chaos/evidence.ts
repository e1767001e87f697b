/** What is left of a round that broke a promise, for whoever looks for the reason. */
import { copyFileSync, existsSync, mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { type Sql, sql } from "@superstep/toolkit/db/sql"
import type { Installation } from "./installation.js"

/**
 * Copies the servers' logs and what nodes told, and writes the rows of threads: their runs, and what these runs logged and saved, also on other
 * threads and in other namespaces. Each row names the transaction that wrote it (`xmin`).
 * @returns  the folder, which stays
 */
export async function keepEvidence(
  { servers, effectsFile, db }: Pick<Installation, "servers" | "effectsFile" | "db">,
  threads: readonly string[],
): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "superstep-chaos-evidence-"))
  const files = [...servers.map(({ logFile }) => logFile), effectsFile]
  for (const file of files.filter(existsSync)) copyFileSync(file, join(folder, basename(file)))
  const runs = sql`(select run_id from runs where thread_id = any (${threads}::uuid[]))`
  const tables: Readonly<Record<string, Sql>> = {
    runs: sql`select xmin, * from runs where run_id in ${runs} order by seq`,
    checkpoints: sql`select xmin, * from checkpoints
      where thread_id = any (${threads}) or metadata ->> 'run_id' in (select run_id::text from ${runs}) order by seq`,
    checkpoint_writes: sql`select xmin, * from checkpoint_writes
      where thread_id = any (${threads}) or run_id in ${runs} order by thread_id, checkpoint_id, task_id, idx`,
    run_events: sql`select xmin, * from run_events where run_id in ${runs} order by run_id, seq`,
  }
  for (const [table, rowsOf] of Object.entries(tables)) {
    const rows = await db.rows<{ row: string }>(sql`select row_to_json(it) as row from (${rowsOf}) it`)
    writeFileSync(join(folder, `${table}.jsonl`), rows.map(({ row }) => `${row}\n`).join(""))
  }
  return folder
}
