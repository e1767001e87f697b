/** The address that `superstep up` prints, with which a person signs in to the console. */

import { createCode, holderOf } from "@superstep/control/console/operations"
import { findCaller } from "@superstep/control/workspaces/operations"
import type { Database } from "@superstep/toolkit/db/database"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { withoutEnd } from "@superstep/toolkit/text/without-end"
import type { Credentials } from "../home/credentials.js"

interface Reader {
  /** Whether a person reads the output. Anything else stores it, as the log of a service does, and a code signs in whoever reads it. */
  readonly isTerminal: boolean
}

/**
 * @returns  with a one-time code for a terminal. Without one when the key of the installation has been revoked, or its workspace is gone:
 *           then one signs in with another key, and the installation starts all the same
 */
export async function consoleAddress(db: Database, credentials: Credentials, reader: Reader): Promise<string> {
  const page = `${withoutEnd(credentials.url, "/")}/sign-in`
  if (!reader.isTerminal) return page
  try {
    const caller = await findCaller(db, credentials.org_api_key, credentials.tenant_id)
    return `${page}#code=${(await createCode(db, holderOf(caller), caller.workspaceId)).code}`
  } catch (error) {
    if (error instanceof KnownError) return page
    throw error
  }
}
