/** Creates threads and assistants like the routes, without a request that may be repeated. */
import type { Database } from "@superstep/toolkit/db/database"
import type { AssistantRow } from "../assistants/assistant.js"
import { type Assistants, prepareAssistant } from "../assistants/operations.js"
import type { NewAssistantBody } from "../assistants/schema.js"
import { anyone, type Caller } from "../auth/caller.js"
import { prepareCopy, prepareThread, type ThreadRequest } from "../threads/operations.js"
import type { ThreadRow } from "../threads/thread.js"

export const createThread = async (
  db: Database,
  request: Partial<ThreadRequest> = {},
  caller: Caller = anyone,
): Promise<ThreadRow> =>
  (await prepareThread(db, caller, { threadId: undefined, metadata: {}, ifExists: "raise", ...request }))(db)

/** @returns the id of a new thread */
export const newThread = async ({ db }: { readonly db: Database }, request?: Partial<ThreadRequest>): Promise<string> =>
  (await createThread(db, request)).thread_id

export const copyThread = async (db: Database, threadId: string, caller: Caller = anyone): Promise<ThreadRow> =>
  db.transaction(await prepareCopy(db, caller, threadId))

export const createAssistant = async (
  parts: Assistants,
  body: NewAssistantBody,
  caller: Caller = anyone,
): Promise<AssistantRow> => (await prepareAssistant(parts, caller, body))(parts.db)
