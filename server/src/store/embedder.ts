/** Calls the project's embedding, which runs in a worker like all of the user's code. */
import { Conflict } from "@superstep/toolkit/errors/errors"
import { z } from "zod"
import { WorkerCallFailed } from "../workers/pending-calls.js"
import type { Workers } from "../workers/port.js"
import type { Embed, StoreIndex } from "./store-settings.js"

/** The embedding failed or returned vectors of the wrong shape, so nothing was written or found. */
export class EmbeddingFailed extends Conflict {
  constructor({ embed }: StoreIndex, why: string, options?: ErrorOptions) {
    super(`the embedding "${embed}" (store.index.embed of langgraph.json) failed: ${why}`, "embedding_failed")
    if (options) this.cause = options.cause
  }
}

/** @param workers  called each time, since the store is created before the workers */
export const embedBy =
  (workers: () => Pick<Workers, "call">): Embed =>
  async (index, texts) => {
    if (texts.length === 0) return []
    const line = await ask(workers(), index, texts)
    const parsed = vectors.safeParse(JSON.parse(line))
    if (!parsed.success) throw new EmbeddingFailed(index, "it did not return a list of vectors of numbers")
    requireShape(index, texts.length, parsed.data)
    return parsed.data
  }

async function ask(workers: Pick<Workers, "call">, index: StoreIndex, texts: readonly string[]): Promise<string> {
  try {
    const { payload } = await workers.call("store.embed", { embed: index.embed }, { texts: JSON.stringify(texts) })
    return payload[0]?.toString("utf8") ?? "null"
  } catch (error) {
    if (error instanceof WorkerCallFailed) throw new EmbeddingFailed(index, error.reason, { cause: error })
    throw error
  }
}

// The database stores each number in four bytes.
const vectors = z.array(z.array(z.number().min(-3.4e38).max(3.4e38)))

function requireShape(index: StoreIndex, count: number, found: readonly (readonly number[])[]): void {
  if (found.length !== count) throw new EmbeddingFailed(index, `it gave ${found.length} vectors for ${count} texts`)
  const other = found.find(({ length }) => length !== index.dims)
  if (!other) return
  throw new EmbeddingFailed(index, `it gave ${other.length} numbers where store.index.dims says ${index.dims}`)
}
