/** Creates the first workspace and its keys, once, and stores them in `credentials.json`. */
import { createApiKey, ensureDefaultWorkspace, listWorkspaces } from "@superstep/control/workspaces/operations"
import type { Database } from "@superstep/toolkit/db/database"
import { type Credentials, CredentialsLost, readCredentials, writeCredentials } from "../home/credentials.js"
import type { Home } from "../home/home.js"

/**
 * @param url  the control plane's public address; a changed one is stored
 * @returns    the credentials of the first start, or new keys when the file was lost
 */
export async function ensureCredentials({
  db,
  home,
  url,
}: {
  db: Database
  home: Home
  url: string
}): Promise<Credentials> {
  const made = await ensureDefaultWorkspace(db)
  // Keys of another database are useless, so newly created ones take precedence over the file.
  const known = made ?? (await readCredentials(home)) ?? (await newKeys(db))
  const credentials = { url, tenant_id: known.tenant_id, api_key: known.api_key, org_api_key: known.org_api_key }
  await writeCredentials(home, credentials)
  return credentials
}

/** After a kill between the database and the file, or a lost file, new keys are created. */
async function newKeys(db: Database): Promise<Omit<Credentials, "url">> {
  const workspace = (await listWorkspaces(db)).find(({ name }) => name === "default")
  if (!workspace)
    throw new CredentialsLost("there is no workspace named default: create keys with superstep keys create")
  const name = "credentials.json was missing"
  const own = await createApiKey(db, { workspaceId: workspace.workspace_id, name, isPlatforms: true })
  const org = await createApiKey(db, { workspaceId: null, name })
  return { tenant_id: workspace.workspace_id, api_key: own.clearKey, org_api_key: org.clearKey }
}
