/** `list`, `revisions`, `open` and `delete`: what is deployed. */
import { spawn } from "node:child_process"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { shownLine } from "@superstep/toolkit/text/shown-line"
import { Option } from "commander"
import type { CliCommand } from "../command-line/command.js"
import { parseCount } from "../command-line/options.js"
import { table } from "../output/table.js"
import { platformApi } from "../platform/api.js"
import { type Connection, type ConnectionOptions, connect, connectionOptions } from "../platform/connection.js"
import {
  type Deployment,
  findDeployment,
  isCanary,
  isFinal,
  listDeployments,
  listRevisions,
  newestRevision,
  type Revision,
} from "../platform/deployments.js"

export const list: CliCommand<ConnectionOptions & { readonly nameContains?: string }> = {
  words: "list",
  summary: "list deployments",
  options: [new Option("--name-contains <text>", "only names that contain this text"), ...connectionOptions()],
  async run({ options, config, out, err }) {
    const api = platformApi(await connect(options, config))
    const deployments = await listDeployments(api, options.nameContains)
    if (options.json) return out.line(JSON.stringify(deployments))
    const newest = await Promise.all(deployments.map((one) => newestRevision(api, one)))
    const rows = deployments.map((one, index) => [
      one.name,
      shownStatus(one),
      newestWords(newest[index], one),
      whatOf(newest[index]),
      one.updated_at,
      // Before the first revision serves, the address does not answer.
      one.active_revision_id === null ? "none yet" : (one.source_config.custom_url ?? ""),
      one.id,
    ])
    if (rows.length === 0) return err.line(nothingListed(options.nameContains))
    for (const line of table(["name", "status", "newest revision", "what", "changed", "address", "id"], rows))
      out.line(line)
  },
}

const nothingListed = (nameContains: string | undefined): string =>
  nameContains === undefined
    ? "no deployments yet: create one with superstep deploy"
    : `no deployment name contains ${nameContains}`

/** What became of a newest revision that does not serve, or why it waits. */
function newestWords(revision: Revision | undefined, deployment: Deployment): string {
  if (revision === undefined || revision.id === deployment.active_revision_id) return ""
  const reason = revision.error_code ?? (isFinal(revision.status) ? null : revision.status_message)
  const status = isTakenBack(revision) ? "rolled back" : revision.status
  return reason ? `${status} (${reason})` : status
}

/** It was deployed, and then its reason made another revision serve again. */
const isTakenBack = ({ status, error_code }: Revision): boolean => status === "DEPLOYED" && error_code !== null

/** What caused a revision, by the API's `trigger`. */
const causes: Readonly<Record<string, string>> = {
  create: "created",
  patch: "deploy or change",
  api: "API",
  push: "git push",
  preview: "pull request",
}

/** The end of an id tells it from the others of a list; the start is a time. */
const causeOf = ({ trigger, repeats_revision_id: repeated }: Revision): string =>
  repeated === null
    ? (causes[trigger] ?? trigger)
    : `${trigger} ${trigger === "rollback" ? "to" : "of"} …${repeated.slice(-8)}`

const longestWhat = 60

/** What its caller says that it is for, else the first line of its commit's message. */
const whatOf = (revision: Revision | undefined): string =>
  shownLine(revision?.message ?? revision?.commit?.message ?? "", longestWhat)

/** The commit of its code; of uploaded code whose commit nobody named, the archive. */
function codeOf({ commit, upload }: Revision): string {
  if (commit === null) return upload === null ? "" : `archive ${upload.sha256.slice(0, 7)}`
  const { sha, branch, is_dirty } = commit
  return [
    sha.slice(0, 7),
    ...(branch === null ? [] : [shownLine(branch, 40)]),
    ...(is_dirty ? ["+ changes"] : []),
  ].join(" ")
}

/** READY only means that the deployment's database exists: the status for callers is its health. */
const shownStatus = ({ status, health }: Deployment): string =>
  status === "READY" ? (health ?? "nothing serves") : status

/** The present role of the revision, besides its status. */
const noteOf = (revision: Revision, deployment: Pick<Deployment, "active_revision_id">): string => {
  const { id, pinned_threads, traffic } = revision
  if (id === deployment.active_revision_id) return " (serves)"
  if (isTakenBack(revision)) return " (rolled back)"
  if (isCanary(revision, deployment)) return ` (canary: ${traffic?.weight} % of the threads)`
  return pinned_threads > 0 ? ` (keeps ${pinned_threads} ${pinned_threads === 1 ? "thread" : "threads"})` : ""
}

export const revisions: CliCommand<ConnectionOptions & { readonly limit: number }> = {
  words: "revisions <deployment>",
  summary: "list a deployment's revisions, newest first",
  options: [new Option("--limit <n>", "how many").argParser(parseCount).default(10), ...connectionOptions()],
  async run({ args, options, config, out, err }) {
    const api = platformApi(await connect(options, config))
    const deployment = await findDeployment(api, args[0] ?? "")
    const all = await listRevisions(api, deployment, options.limit)
    if (options.json) return out.line(JSON.stringify(all))
    const rows = all.map((one) => [
      one.id,
      one.status + noteOf(one, deployment),
      one.created_at,
      causeOf(one),
      whatOf(one),
      codeOf(one),
      one.error_code ?? (isFinal(one.status) ? "" : (one.status_message ?? "")),
    ])
    if (rows.length === 0) return err.line(`no revisions of ${deployment.name} yet: create one with superstep deploy`)
    for (const line of table(["id", "status", "created", "cause", "what", "code", "reason"], rows)) out.line(line)
  },
}

export class NotConfirmed extends KnownError {
  readonly code = "not_confirmed"
}

export const deleteDeployment: CliCommand<ConnectionOptions & { readonly yes?: boolean }> = {
  words: "delete <deployment>",
  summary: "delete a deployment and its database",
  options: [new Option("--yes", "confirm: its threads and its store are deleted"), ...connectionOptions()],
  async run({ args, options, config, out }) {
    const api = platformApi(await connect(options, config))
    const { id, name } = await findDeployment(api, args[0] ?? "")
    if (!options.yes)
      throw new NotConfirmed(`this permanently deletes ${name}, its threads and its store: confirm with --yes`)
    await api.send("DELETE", `/v2/deployments/${id}`)
    out.line(
      options.json
        ? JSON.stringify({ id, name, deleted: true })
        : `${out.style("green", "✔")} ${name} is being deleted`,
    )
  },
}

export const open: CliCommand<ConnectionOptions> = {
  words: "open <deployment>",
  summary: "show a deployment's address, and open its page of the console in the browser",
  options: connectionOptions(),
  async run({ args, options, config, out }) {
    const connection = await connect(options, config)
    const api = platformApi(connection)
    const { id, name, source_config, active_revision_id } = await findDeployment(api, args[0] ?? "")
    const url = source_config.custom_url
    if (url === null || active_revision_id === null)
      throw new NoAddress(`${name} has no address yet: no revision of it serves`)
    if (options.json) return out.line(JSON.stringify({ id, name, url }))
    out.line(url)
    // Only in a terminal: a script only needs the address. A browser sends the agent no key, so it would show a refusal.
    if (out.isTerminal) showInBrowser(consolePageOf(connection, id))
  },
}

const consolePageOf = ({ url, workspaceId }: Connection, id: string): string =>
  `${url}/deployments/${id}${workspaceId === undefined ? "" : `?workspace=${workspaceId}`}`

export class NoAddress extends KnownError {
  readonly code = "no_address"
}

/** A machine without a desktop lacks the program; the address was printed already. */
function showInBrowser(url: string): void {
  const program = process.platform === "darwin" ? "open" : "xdg-open"
  spawn(program, [url], { stdio: "ignore", detached: true })
    .once("error", () => undefined)
    .unref()
}
