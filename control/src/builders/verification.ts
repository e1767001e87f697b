/** Reads what the verify program wrote, in a folder where the user's code writes too: nothing of it is trusted. */
import { basename, dirname } from "node:path"
import { z } from "zod"
import { readPlainFile, UnusableFile } from "../files/read-plain-file.js"
import { BuildFailed } from "./failure.js"

const verification = z.object({
  graphs: z.array(z.string()),
  failed: z.array(z.object({ graph_id: z.string(), message: z.string(), code_frame: z.string().optional() })),
  langgraph_version: z.string().nullish(),
})

export type Verification = z.output<typeof verification>

// A message and a few lines of source for each graph.
const maxBytes = 1024 * 1024

/**
 * What is wrong with the file's content is not told, since that would quote it.
 * @returns undefined when there is none
 * @throws BuildFailed
 */
export async function readVerification(path: string): Promise<Verification | undefined> {
  const text = await readPlainFile(dirname(path), basename(path), maxBytes).catch((error: unknown) => {
    throw error instanceof UnusableFile ? unreadable() : error
  })
  return text === undefined ? undefined : parse(text)
}

function parse(text: string): Verification {
  try {
    return verification.parse(JSON.parse(text))
  } catch {
    // The agent's own code may have written it: what is wrong with it is none of our words.
    throw unreadable()
  }
}

const unreadable = () => new BuildFailed("graph_load_failed", "the verification wrote no readable result")
