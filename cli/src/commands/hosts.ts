/** `superstep hosts`: the host names of a deployment. */
import type { CliCommand } from "../command-line/command.js"
import { table } from "../output/table.js"
import { platformApi } from "../platform/api.js"
import { type ConnectionOptions, connect, connectAsOperator, connectionOptions } from "../platform/connection.js"
import { findDeployment } from "../platform/deployments.js"

interface HostName {
  readonly name: string
  readonly url: string
  readonly status: string
  readonly failure: string | null
}

const pathOf = (id: string): string => `/v2/deployments/${id}/host-names`

export const listHosts: CliCommand<ConnectionOptions> = {
  words: "hosts list <deployment>",
  summary: "list the host names of a deployment",
  options: connectionOptions(),
  async run({ args: [name = ""], options, config, out, err }) {
    const api = platformApi(await connect(options, config))
    const { id, name: deployment } = await findDeployment(api, name)
    const { resources } = await api.send<{ resources: HostName[] }>("GET", pathOf(id))
    if (options.json) return out.line(JSON.stringify(resources))
    if (resources.length === 0) return err.line(`${deployment} has no host names`)
    const rows = resources.map((it) => [it.name, it.status, it.url, it.failure ?? ""])
    for (const line of table(["host name", "status", "address", "last failure"], rows)) out.line(line)
  },
}

export const addHost: CliCommand<ConnectionOptions> = {
  words: "hosts add <deployment> <name>",
  summary: "make a deployment reachable at a host name of its own",
  options: connectionOptions(),
  async run({ args: [deployment = "", name = ""], options, config, out }) {
    // Whoever has the data folder is the operator, who may add any name.
    const api = platformApi(await connectAsOperator(options, config))
    const { id } = await findDeployment(api, deployment)
    const added = await api.send<HostName>("POST", pathOf(id), { body: { name } })
    out.line(options.json ? JSON.stringify(added) : `${added.name} is ${added.status}: ${added.url}`)
  },
}

export const removeHost: CliCommand<ConnectionOptions> = {
  words: "hosts remove <deployment> <name>",
  summary: "remove a host name from a deployment",
  options: connectionOptions(),
  async run({ args: [deployment = "", name = ""], options, config, out }) {
    const api = platformApi(await connect(options, config))
    const { id } = await findDeployment(api, deployment)
    await api.send("DELETE", `${pathOf(id)}/${encodeURIComponent(name)}`)
    out.line(options.json ? JSON.stringify({ name, removed: true }) : `${name} is removed`)
  },
}
