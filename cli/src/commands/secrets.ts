/** `superstep secrets`: the environment of a deployment's graphs. Values are read, never shown. */
import { text } from "node:stream/consumers"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { Option } from "commander"
import type { CliCommand } from "../command-line/command.js"
import { type PlatformApi, platformApi } from "../platform/api.js"
import { type ConnectionOptions, connect, connectionOptions } from "../platform/connection.js"
import { type Deployment, findDeployment } from "../platform/deployments.js"

interface SecretOptions extends ConnectionOptions {
  readonly deploy: boolean
}

export class NoValue extends KnownError {
  readonly code = "no_value"
}

const noDeploy = () => new Option("--no-deploy", "create no revision: the change applies from the next one on")

export const listSecrets: CliCommand<ConnectionOptions> = {
  words: "secrets list <deployment>",
  summary: "list the names of secrets",
  options: connectionOptions(),
  async run({ args, options, config, out, err }) {
    const api = platformApi(await connect(options, config))
    const { id, name: deployment } = await findDeployment(api, args[0] ?? "")
    const { resources } = await api.send<{ resources: { name: string }[] }>("GET", `/v2/deployments/${id}/secrets`)
    const names = resources.map(({ name }) => name)
    if (options.json) return out.line(JSON.stringify(names))
    if (names.length === 0) return err.line(`${deployment} has no secrets`)
    for (const name of names) out.line(name)
  },
}

export const setSecret: CliCommand<SecretOptions> = {
  words: "secrets set <deployment> <name>",
  summary: "set a secret to the text on standard input, and deploy it",
  options: [noDeploy(), ...connectionOptions()],
  async run({ args, options, config, out }) {
    const api = platformApi(await connect(options, config))
    const deployment = await findDeployment(api, args[0] ?? "")
    // A value on the command line would be in the shell's history and in the list of processes, which everybody can read.
    if (process.stdin.isTTY)
      throw new NoValue("provide the value on standard input: superstep secrets set DEPLOYMENT NAME < file")
    const value = (await text(process.stdin)).replace(/\r?\n$/, "")
    await change(api, "PUT", { id: deployment.id, name: args[1] ?? "", options, body: { value } })
    report(out.line, options, { name: args[1], set: true }, `${args[1]} is set${fromWhen(options, deployment)}`)
  },
}

export const unsetSecret: CliCommand<SecretOptions> = {
  words: "secrets unset <deployment> <name>",
  summary: "remove a secret, and deploy without it",
  options: [noDeploy(), ...connectionOptions()],
  async run({ args, options, config, out }) {
    const api = platformApi(await connect(options, config))
    const deployment = await findDeployment(api, args[0] ?? "")
    await change(api, "DELETE", { id: deployment.id, name: args[1] ?? "", options })
    report(out.line, options, { name: args[1], set: false }, `${args[1]} is removed${fromWhen(options, deployment)}`)
  },
}

/** The graphs that serve keep their environment: another revision gets the changed one. */
function fromWhen({ deploy }: SecretOptions, { name, source, source_config }: Deployment): string {
  if (!deploy) return " from the next revision on"
  const code = source === "github" ? `, of the newest commit in ${source_config.repo_url},` : ""
  return `, which applies when the new revision${code} is deployed: superstep revisions ${name}`
}

function change(
  api: PlatformApi,
  method: "PUT" | "DELETE",
  { id, name, options, body }: { id: string; name: string; options: SecretOptions; body?: object },
): Promise<unknown> {
  const query = options.deploy ? "" : "?deploy=false"
  const path = `/v2/deployments/${id}/secrets/${encodeURIComponent(name)}${query}`
  return api.send(method, path, body ? { body } : {})
}

const report = (line: (text: string) => void, { json }: SecretOptions, result: object, words: string): void =>
  line(json ? JSON.stringify(result) : words)
