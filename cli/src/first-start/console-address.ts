/** The address that `superstep up` prints, with which a person signs in to the console. */
import { createCode } from "@superstep/control/console/operations"
import { findCaller } from "@superstep/control/workspaces/operations"
import type { Database } from "@superstep/toolkit/db/database"
import { Unauthenticated } from "@superstep/toolkit/errors/errors"
import type { Credentials } from "../home/credentials.js"

/** @returns  without a code when the key of the installation has been revoked: then one signs in with another key */
export async function consoleAddress(db: Database, credentials: Credentials): Promise<string> {
  const page = `${credentials.url.replace(/\/+$/, "")}/sign-in`
  try {
    const caller = await findCaller(db, credentials.org_api_key, credentials.tenant_id)
    return `${page}#code=${(await createCode(db, caller)).code}`
  } catch (error) {
    if (error instanceof Unauthenticated) return page
    throw error
  }
}
