/** `superstep quotas`: the limits of a workspace. */
import { KnownError } from "@superstep/toolkit/errors/errors"
import { Option } from "commander"
import type { CliCommand } from "../command-line/command.js"
import type { Output } from "../output/output.js"
import { table } from "../output/table.js"
import { platformApi } from "../platform/api.js"
import { type ConnectionOptions, connect, connectAsOperator, connectionOptions } from "../platform/connection.js"

type Quotas = Readonly<Record<string, { readonly limit: number; readonly used: number; readonly is_default: boolean }>>

interface QuotaOptions extends ConnectionOptions {
  readonly deployments?: string
  readonly units?: string
  readonly memoryMb?: string
  readonly cpu?: string
  readonly builds?: string
  readonly diskMb?: string
  readonly hostNames?: string
}

export class NoQuota extends KnownError {
  readonly code = "no_quota"
}

export const showQuotas: CliCommand<ConnectionOptions> = {
  words: "quotas show",
  summary: "show the quotas of the workspace and their use",
  options: connectionOptions(),
  async run({ options, config, out }) {
    const api = platformApi(await connect(options, config))
    show(out, options, await api.send<Quotas>("GET", "/v2/quotas"))
  },
}

const none = "or default, to use the installation's default"

export const setQuotas: CliCommand<QuotaOptions> = {
  words: "quotas set",
  summary: "set quotas of the workspace; requires a key of the installation",
  options: [
    new Option("--deployments <n>", `most deployments, ${none}`),
    new Option("--units <n>", `most units of all its deployments, ${none}`),
    new Option("--memory-mb <n>", `most memory of these units in megabytes, ${none}`),
    new Option("--cpu <n>", `most processors of these units, ${none}`),
    new Option("--builds <n>", `most revisions that are fetched or built at once, ${none}`),
    new Option("--disk-mb <n>", `most disk of artifacts, caches and uploads in megabytes, ${none}`),
    new Option("--host-names <n>", `most host names of all its deployments, ${none}`),
    ...connectionOptions(),
  ],
  async run({ options, config, out }) {
    const body = wanted(options)
    const api = platformApi(await connectAsOperator(options, config))
    show(out, options, await api.send<Quotas>("PATCH", "/v2/quotas", { body }))
  },
}

/** @throws NoQuota  none is given, or one is no number */
export function wanted({
  deployments,
  units,
  memoryMb,
  cpu,
  builds,
  diskMb,
  hostNames,
}: QuotaOptions): Record<string, number | null> {
  const given = { deployments, units, memory_mb: memoryMb, cpu, builds, disk_mb: diskMb, host_names: hostNames }
  const named = Object.entries(given).filter(([, text]) => text !== undefined)
  if (named.length === 0)
    throw new NoQuota(
      "give at least one of --deployments, --units, --memory-mb, --cpu, --builds, --disk-mb and --host-names",
    )
  return Object.fromEntries(named.map(([name, text = ""]) => [name, amountOf(name, text)]))
}

function amountOf(name: string, text: string): number | null {
  if (text === "default") return null
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text)
  throw new NoQuota(`--${name.replaceAll("_", "-")} must be a number or default, not ${text}`)
}

function show(out: Output, { json }: ConnectionOptions, quotas: Quotas): void {
  const rows = Object.entries(quotas).map(([name, { limit, used, is_default }]) => [
    name,
    String(used),
    String(limit),
    is_default ? "default" : "set for this workspace",
  ])
  const lines = json ? [JSON.stringify(quotas)] : table(["quota", "used", "limit", "from"], rows)
  for (const line of lines) out.line(line)
}
