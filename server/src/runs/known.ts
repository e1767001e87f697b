/**
 * What this server has read of assistants and threads, from which it plans runs without reading it again. It may be out of date: `begin_run`
 * compares it, and creates nothing if so (decision 83).
 */
import { Recent } from "@superstep/toolkit/collections/recent"
import type { Assistant } from "../assistants/assistant.js"
import type { ThreadRow } from "../threads/thread.js"

/** What the runs of a thread inherit; JSON texts. */
export type ThreadTexts = Pick<ThreadRow, "metadata" | "config">

// An assistant of a hundred kilobytes is rare, and a thread has some hundred bytes.
const mostAssistants = 500
const mostThreads = 10_000
const mostCharacters = 2_000

export class Known {
  readonly assistants = new Recent<string, Assistant>(mostAssistants)
  readonly #threads = new Recent<string, ThreadTexts>(mostThreads)

  thread(threadId: string): ThreadTexts | undefined {
    return this.#threads.get(threadId)
  }

  noteThread(threadId: string, { metadata, config }: ThreadTexts): void {
    if (metadata.length + config.length <= mostCharacters) this.#threads.set(threadId, { metadata, config })
  }

  forget({ assistantId, threadId }: { readonly assistantId: string; readonly threadId: string }): void {
    this.assistants.delete(assistantId)
    this.#threads.delete(threadId)
  }
}
