/** The table on disk: what an edge that starts again begins with. */
import { open, readFile, rename } from "node:fs/promises"
import type { Log } from "@superstep/toolkit/log/log"
import { emptyTable, saysRights, type Table, tableSchema } from "./table.js"

/**
 * Reads the last table. A file that cannot be read as one is reported and gives the empty table: the control plane
 * pushes the whole table again, and an edge that does not start would keep it from doing so.
 */
export async function readTableFile(path: string, log: Log): Promise<Table> {
  let text: string
  try {
    text = await readFile(path, "utf8")
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error
    return emptyTable
  }
  try {
    return askedForAnew(tableSchema.parse(JSON.parse(text)))
  } catch (err) {
    log.error({ err, path }, "the table's file cannot be read: no route answers until the control plane sends one")
    return emptyTable
  }
}

/**
 * A table of an older release is used until the control plane sends one, which it does only to an edge that is behind. Such a
 * file may have the newest number: an edge of the older release that hands over writes what it understands of each table.
 */
const askedForAnew = (table: Table): Table => (saysRights(table) ? table : { ...table, generation: 0 })

/** Replaces the file as a whole: whoever reads it, at any moment and after any crash, finds one table or the other. */
export async function writeTableFile(path: string, table: Table): Promise<void> {
  const temporary = `${path}.new`
  // It holds the units' tokens.
  await using file = await open(temporary, "w", 0o600)
  await file.writeFile(JSON.stringify(table))
  await file.sync()
  await rename(temporary, path)
}
