/** `list`, `revisions`, `open` and `delete`: what is deployed. */
import { spawn } from "node:child_process"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { Option } from "commander"
import type { CliCommand } from "../command.js"
import { parseCount } from "../options.js"
import { table } from "../output/table.js"
import { platformApi } from "../platform/api.js"
import { type ConnectionOptions, connect, connectionOptions } from "../platform/connection.js"
import { type Deployment, findDeployment, listDeployments, listRevisions } from "../platform/deployments.js"

export const list: CliCommand<ConnectionOptions & { readonly nameContains?: string }> = {
  words: "list",
  summary: "show the deployments",
  options: [new Option("--name-contains <text>", "only those whose name has this"), ...connectionOptions()],
  async run({ options, config, out, err }) {
    const api = platformApi(await connect(options, config))
    const deployments = await listDeployments(api, options.nameContains)
    if (options.json) return out.line(JSON.stringify(deployments))
    const rows = deployments.map((one) => [
      one.name,
      shownStatus(one),
      one.updated_at,
      // Before the first revision serves, nobody answers there.
      one.active_revision_id === null ? "none yet" : (one.source_config.custom_url ?? ""),
      one.id,
    ])
    if (rows.length === 0) return err.line(nothingListed(options.nameContains))
    for (const line of table(["name", "status", "changed", "address", "id"], rows)) out.line(line)
  },
}

const nothingListed = (nameContains: string | undefined): string =>
  nameContains === undefined
    ? "no deployments yet: superstep deploy makes one"
    : `no deployment has ${nameContains} in its name`

/** READY says no more than that the deployment's database is there: what callers see of it is its health. */
const shownStatus = ({ status, health }: Deployment): string =>
  status === "READY" ? (health ?? "nothing serves") : status

export const revisions: CliCommand<ConnectionOptions & { readonly limit: number }> = {
  words: "revisions <deployment>",
  summary: "show a deployment's revisions, the newest first",
  options: [new Option("--limit <n>", "how many").argParser(parseCount).default(10), ...connectionOptions()],
  async run({ args, options, config, out, err }) {
    const api = platformApi(await connect(options, config))
    const deployment = await findDeployment(api, args[0] ?? "")
    const all = await listRevisions(api, deployment, options.limit)
    if (options.json) return out.line(JSON.stringify(all))
    const rows = all.map((one) => [
      one.id,
      one.id === deployment.active_revision_id ? `${one.status} (serves)` : one.status,
      one.created_at,
      one.trigger,
      one.source_revision_config.repo_commit_sha?.slice(0, 10) ?? "",
      one.error_code ?? "",
    ])
    if (rows.length === 0) return err.line(`no revisions of ${deployment.name} yet: superstep deploy makes one`)
    for (const line of table(["id", "status", "created", "by", "commit", "error"], rows)) out.line(line)
  },
}

export class NotConfirmed extends KnownError {
  readonly code = "not_confirmed"
}

export const deleteDeployment: CliCommand<ConnectionOptions & { readonly yes?: boolean }> = {
  words: "delete <deployment>",
  summary: "remove a deployment with its database",
  options: [new Option("--yes", "really: its threads and its store are gone then"), ...connectionOptions()],
  async run({ args, options, config, out }) {
    const api = platformApi(await connect(options, config))
    const { id, name } = await findDeployment(api, args[0] ?? "")
    if (!options.yes)
      throw new NotConfirmed(`this removes ${name}, its threads and its store for ever: say --yes if you mean it`)
    await api.send("DELETE", `/v2/deployments/${id}`)
    out.line(
      options.json
        ? JSON.stringify({ id, name, deleted: true })
        : `${out.style("green", "✔")} ${name} is being removed`,
    )
  },
}

export const open: CliCommand<ConnectionOptions> = {
  words: "open <deployment>",
  summary: "show where a deployment answers, and its reference in the browser",
  options: connectionOptions(),
  async run({ args, options, config, out }) {
    const api = platformApi(await connect(options, config))
    const { id, name, source_config, active_revision_id } = await findDeployment(api, args[0] ?? "")
    const url = source_config.custom_url
    if (url === null || active_revision_id === null)
      throw new NoAddress(`${name} has no address yet: no revision of it serves`)
    if (options.json) return out.line(JSON.stringify({ id, name, url }))
    out.line(url)
    // Only where somebody looks: a script wants the address.
    if (out.isTerminal) showInBrowser(`${url}/docs`)
  },
}

export class NoAddress extends KnownError {
  readonly code = "no_address"
}

/** A machine without a desktop has no such program; the address was printed. */
function showInBrowser(url: string): void {
  const program = process.platform === "darwin" ? "open" : "xdg-open"
  spawn(program, [url], { stdio: "ignore", detached: true })
    .once("error", () => undefined)
    .unref()
}
