/**
 * What this server has read of assistants and threads, from which it plans runs without reading it again. It may be out of date: `begin_run`
 * compares it, and creates nothing if so (decision 83).
 */
import { Recent } from "@superstep/toolkit/collections/recent"
import { toJsonText } from "@superstep/toolkit/http/json"
import type { Assistant } from "../assistants/assistant.js"
import type { ThreadRow } from "../threads/thread.js"

/** What the runs of a thread inherit; JSON texts. */
export type ThreadTexts = Pick<ThreadRow, "metadata" | "config">

// Larger ones are read each time: a client chooses their sizes and numbers, and memory is shared.
const mostAssistants = 500
const mostCharactersOfAssistant = 20_000
const mostThreads = 10_000
const mostCharactersOfThread = 2_000

export class Known {
  readonly #assistants = new Recent<string, Assistant>(mostAssistants)
  readonly #threads = new Recent<string, ThreadTexts>(mostThreads)

  assistant(assistantId: string): Assistant | undefined {
    return this.#assistants.get(assistantId)
  }

  noteAssistant(assistant: Assistant): void {
    const { assistantId, config, context, metadata } = assistant
    if (toJsonText([config, context, metadata]).length <= mostCharactersOfAssistant)
      this.#assistants.set(assistantId, assistant)
  }

  thread(threadId: string): ThreadTexts | undefined {
    return this.#threads.get(threadId)
  }

  noteThread(threadId: string, { metadata, config }: ThreadTexts): void {
    if (metadata.length + config.length <= mostCharactersOfThread) this.#threads.set(threadId, { metadata, config })
  }

  forget({ assistantId, threadId }: { readonly assistantId: string; readonly threadId: string | undefined }): void {
    this.#assistants.delete(assistantId)
    if (threadId !== undefined) this.#threads.delete(threadId)
  }
}
