import { createWorkspace, listWorkspaces } from "@superstep/control/workspaces/operations"
import type { Workspace } from "@superstep/control/workspaces/workspace"
import type { CliCommand } from "../command-line/command.js"
import { homeOption, jsonOption } from "../command-line/options.js"
import { withControlDatabase } from "../home/control-database.js"
import { openInstallation } from "../home/installation.js"

interface WorkspaceOptions {
  readonly home?: string
  readonly json?: boolean
}

/** The fields of the HTTP API, for scripts: the id of a workspace is the `X-Tenant-Id` of requests. */
const shown = ({ workspace_id, name, created_at }: Workspace) => ({ id: workspace_id, name, created_at })

export const createWorkspaceCommand: CliCommand<WorkspaceOptions> = {
  words: "workspaces create <name>",
  summary: "create a workspace",
  options: [jsonOption(), homeOption()],
  async run({ args, options, config, out }) {
    const home = await openInstallation(options.home, config)
    const workspace = await withControlDatabase({ home, config, command: "superstep workspaces" }, (db) =>
      createWorkspace(db, args[0] ?? ""),
    )
    if (options.json) return out.line(JSON.stringify(shown(workspace)))
    out.line(`${out.style("green", "✔")} workspace ${workspace.name}: ${workspace.workspace_id}`)
    out.line(`  create a key for it: superstep keys create --workspace ${workspace.workspace_id}`)
  },
}

export const listWorkspacesCommand: CliCommand<WorkspaceOptions> = {
  words: "workspaces list",
  summary: "list all workspaces",
  options: [jsonOption(), homeOption()],
  async run({ options, config, out }) {
    const home = await openInstallation(options.home, config)
    const workspaces = await withControlDatabase({ home, config, command: "superstep workspaces" }, listWorkspaces)
    if (options.json) return out.line(JSON.stringify(workspaces.map(shown)))
    for (const { workspace_id, name } of workspaces) out.line(`${workspace_id}  ${name}`)
  },
}
