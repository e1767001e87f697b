import { createApiKey, listApiKeys, revokeApiKey } from "@superstep/control/workspaces/operations"
import { type ApiKey, type Scope, scopes } from "@superstep/control/workspaces/workspace"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { Option } from "commander"
import type { CliCommand } from "../command-line/command.js"
import { homeOption, jsonOption } from "../command-line/options.js"
import { withControlDatabase } from "../home/control-database.js"
import { openInstallation } from "../home/installation.js"

interface KeyOptions {
  readonly home?: string
  readonly json?: boolean
  readonly workspace?: string
  readonly org?: boolean
  readonly name?: string
  readonly scope?: readonly Scope[]
}

export class MissingKeyOwner extends KnownError {
  readonly code = "whose_key"
  constructor() {
    super("give either --workspace <id> or --org (superstep workspaces list shows the ids)")
  }
}

const command = "superstep keys"
const whose = () => [
  new Option("--workspace <id>", "the workspace of the key"),
  new Option("--org", "a key of the whole installation; requests with it select a workspace by X-Tenant-Id"),
]

/** @throws MissingKeyOwner  unless exactly one of the two is given */
function ownerOf({ workspace, org }: KeyOptions): string | null {
  if ((workspace !== undefined) === (org === true)) throw new MissingKeyOwner()
  return workspace ?? null
}

const shown = ({ api_key_id, workspace_id, name, prefix, scopes, created_at, revoked_at }: ApiKey) => ({
  id: api_key_id,
  workspace_id,
  name,
  prefix,
  scopes,
  created_at,
  revoked_at,
})

export const createKey: CliCommand<KeyOptions> = {
  words: "keys create",
  summary: "create an API key, which is shown only once",
  options: [
    ...whose(),
    new Option("--name <name>", "a name that describes its use").default("cli"),
    new Option("--scope <scopes...>", "rights of the key; run: only call agents (default: admin, everything)").choices(
      scopes,
    ),
    jsonOption(),
    homeOption(),
  ],
  async run({ options, config, out }) {
    const workspaceId = ownerOf(options)
    const home = await openInstallation(options.home, config)
    const { key, clearKey } = await withControlDatabase({ home, config, command }, (db) =>
      db.transaction((tx) => createApiKey(tx, { workspaceId, name: options.name ?? "cli", scopes: options.scope })),
    )
    if (options.json) return out.line(JSON.stringify({ ...shown(key), key: clearKey }))
    out.line(clearKey)
  },
}

export const listKeys: CliCommand<KeyOptions> = {
  words: "keys list",
  summary: "list keys with their first characters",
  options: [...whose(), jsonOption(), homeOption()],
  async run({ options, config, out }) {
    const workspaceId = ownerOf(options)
    const home = await openInstallation(options.home, config)
    const keys = await withControlDatabase({ home, config, command }, (db) => listApiKeys(db, workspaceId))
    if (options.json) return out.line(JSON.stringify(keys.map(shown)))
    for (const { api_key_id, prefix, name, scopes: held, revoked_at } of keys) {
      out.line(`${api_key_id}  ${prefix}…  ${name}  ${held.join(",")}${revoked_at ? "  revoked" : ""}`)
    }
  },
}

export const revokeKey: CliCommand<KeyOptions> = {
  words: "keys revoke <id>",
  summary: "revoke a key: later requests with it get 401",
  options: [homeOption()],
  async run({ args, options, config, out }) {
    const home = await openInstallation(options.home, config)
    await withControlDatabase({ home, config, command }, (db) => revokeApiKey(db, args[0] ?? ""))
    out.line(`${out.style("green", "✔")} revoked`)
  },
}
