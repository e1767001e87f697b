/** Reads what the verify program wrote, in a folder where the user's code writes too: nothing of it is trusted. */
import { constants } from "node:fs"
import { type FileHandle, open } from "node:fs/promises"
import { z } from "zod"
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
 * We may be root, and the file may be a link to what only root can read: it must be itself a small, regular file. What
 * is wrong with its content is not told, since that would quote it.
 * @returns undefined when there is none
 * @throws BuildFailed
 */
export async function readVerification(path: string): Promise<Verification | undefined> {
  const file = await openPlain(path)
  if (!file) return undefined
  try {
    const found = await file.stat()
    if (!found.isFile() || found.nlink !== 1 || found.size > maxBytes) throw unreadable()
    const text = Buffer.alloc(found.size)
    const { bytesRead } = await file.read(text, 0, found.size, 0)
    return parse(text.toString("utf8", 0, bytesRead))
  } finally {
    await file.close()
  }
}

async function openPlain(path: string): Promise<FileHandle | undefined> {
  try {
    // Without O_NONBLOCK a named pipe would keep us waiting for its writer.
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined
    throw unreadable()
  }
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
