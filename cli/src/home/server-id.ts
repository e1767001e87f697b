/**
 * `server-id`: the id of the agent server that `dev` and `serve` run on a data folder. With it a restarted server takes its own
 * runs back at once (docs/durability.md). Only the program that owns the folder reads or writes it.
 */
import { randomUUID } from "node:crypto"
import { readFile, rename, writeFile } from "node:fs/promises"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import type { Home } from "./home.js"

const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/

/** The folder's id, generated when there is no readable one. */
export async function serverIdOf({ serverId: file }: Home): Promise<string> {
  const kept = (await readFile(file, "utf8").catch(ifCode(missing)))?.trim()
  if (kept !== undefined && uuid.test(kept)) return kept
  const id = randomUUID()
  // Written atomically: a kill leaves no partial file.
  const draft = `${file}.${process.pid}`
  await writeFile(draft, `${id}\n`)
  await rename(draft, file)
  return id
}
