/** The table on disk: an edge that restarts loads it. */
import { readFile } from "node:fs/promises"
import { unixAddress } from "@superstep/protocol/http/address"
import { writeWhole } from "@superstep/toolkit/files/whole-file"
import type { Log } from "@superstep/toolkit/log/log"
import { emptyTable, hasKeyRights, readTable, type Table } from "./table.js"

/**
 * Reads the last table. An unreadable file is logged and gives the empty table: the control plane pushes the whole table
 * again, which it could not do if the edge failed to start.
 */
export async function readTableFile(path: string, log?: Log): Promise<Table> {
  let text: string
  try {
    text = await readFile(path, "utf8")
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error
    return emptyTable
  }
  try {
    const read = readTable(JSON.parse(text, upgraded))
    if ("problem" in read) throw new Error(`${read.problem.path.join(".")}: ${read.problem.message}`)
    return resetGeneration(read.message)
  } catch (err) {
    log?.error({ err, path }, "the table's file cannot be read: no route works until the control plane sends a table")
    return emptyTable
  }
}

/** A reviver of JSON: in tables of releases before 0.2, units have the path of a Unix socket, and routes need not have all lists. */
function upgraded(_: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value
  if ("socket_path" in value && !("address" in value))
    return { ...value, address: unixAddress(String(value.socket_path)) }
  if ("units" in value) return { state: "serving", standby: [], ...value }
  return value
}

/**
 * Lowers a table of an older release to generation 0, so that the control plane sends a new one: it does so only to an edge
 * that is behind. The file may have the newest number: a retiring edge of the older release writes each table without the
 * parts that it does not understand.
 */
const resetGeneration = (table: Table): Table => (hasKeyRights(table) ? table : { ...table, generation: 0 })

/**
 * Replaces the file as a whole: a reader finds the old table or the new one, at any moment and after any crash. Of an edge and the one that replaces it,
 * both may write.
 */
export const writeTableFile = (path: string, table: Table): Promise<void> => writeWhole(path, JSON.stringify(table))
