/** Settings of the control plane. Long on purpose: one table, in which each setting has its place. */
import { hostname, networkInterfaces } from "node:os"
import { delimiter } from "node:path"
import { machineSettings } from "@superstep/machines/kinds/settings"
import type { BuildLimits } from "@superstep/protocol/build/request"
import { databaseAddress } from "@superstep/toolkit/config/database-address"
import { logLevel } from "@superstep/toolkit/config/log-level"
import { readSettings, type Settings, type Values } from "@superstep/toolkit/config/settings"
import {
  file,
  flag,
  httpUrl,
  json,
  minutes,
  port,
  seconds,
  secret,
  wholeNumber,
  without,
} from "@superstep/toolkit/config/texts"
import { isThisMachine } from "@superstep/toolkit/http/this-machine"
import { networksProblem } from "@superstep/toolkit/http/trusted-proxies"
import { z } from "zod"
import { ownOrigins } from "./console/own-origins.js"
import { resourceTiersOf, resourceTiersSchema } from "./deployments/resource-tiers.js"
import { authoritySettings } from "./host-names/authority-settings.js"
import { canonicalHostName } from "./host-names/host-name.js"
import { listenerSettings } from "./listeners/mirror/settings.js"
import { logForwardSettings } from "./log-forwarding/settings.js"
import { oidcSettings } from "./people/oidc/settings.js"
import type { Amounts } from "./quotas/quota.js"
import type { GitProtocol } from "./revisions/repository.js"

const protocols = ["https", "ssh", "http", "file", "git"] as const satisfies readonly GitProtocol[]

const count = wholeNumber({ least: 1 })

export const settings = {
  home: {
    env: "SUPERSTEP_HOME",
    describe: "Data folder.",
    schema: file.prefault(".superstep"),
    defaultText: "`.superstep`",
  },
  host: { env: "SUPERSTEP_HOST", describe: "Address to listen on.", schema: z.string().default("127.0.0.1") },
  port: { env: "SUPERSTEP_PORT", describe: "Port of the API.", schema: port.default(8900) },
  agentsPort: { env: "SUPERSTEP_AGENTS_PORT", describe: "Port of the deployed agents.", schema: port.default(8901) },
  publicUrl: {
    env: "SUPERSTEP_PUBLIC_URL",
    describe: "Public address of the API, when a reverse proxy is in front.",
    schema: httpUrl.optional(),
  },
  agentsUrl: {
    env: "SUPERSTEP_AGENTS_URL",
    describe: "Public address of the agents, when a reverse proxy is in front.",
    schema: httpUrl.optional(),
  },
  tlsCert: {
    env: "SUPERSTEP_TLS_CERT",
    describe: "PEM file of the HTTPS certificate, for the API and the agents; renewals apply to new connections.",
    schema: file.optional(),
  },
  tlsKey: {
    env: "SUPERSTEP_TLS_KEY",
    describe: "PEM file of that certificate's key, without a passphrase.",
    schema: file.optional(),
  },
  requestsPerSecond: {
    env: "SUPERSTEP_REQUESTS_PER_SECOND",
    describe: "Most requests per second for a `prod` deployment; further ones get 429 with Retry-After. 0: no limit.",
    schema: wholeNumber().default(500),
  },
  trustedProxies: {
    env: "SUPERSTEP_TRUSTED_PROXIES",
    describe: "Addresses or networks of reverse proxies whose X-Forwarded headers are trusted, separated by commas.",
    schema: without(networksProblem).default(""),
  },
  keyFailuresPerMinute: {
    env: "SUPERSTEP_KEY_FAILURES",
    describe: "How many wrong API keys and codes of the console an address may send per minute before it gets 429.",
    schema: count.default(100),
  },
  databaseUri: {
    env: "DATABASE_URI",
    describe: "Postgres database of the control plane; its role must be able to create databases and roles.",
    schema: databaseAddress,
  },
  databaseConnections: {
    env: "SUPERSTEP_DATABASE_CONNECTIONS",
    describe: "Most database connections of all agents; by default the server's `max_connections` less 20.",
    schema: count.optional(),
  },
  gitProtocols: {
    env: "SUPERSTEP_GIT_PROTOCOLS",
    describe:
      "Protocols that git may use, separated by commas; by default https and ssh, and also http, file and git while SUPERSTEP_HOST is loopback, and SUPERSTEP_PUBLIC_URL is unset or loopback.",
    schema: z
      .string()
      .transform((list) => list.split(",").map((name) => name.trim()))
      .pipe(z.array(z.enum(protocols)))
      .optional(),
  },
  masterKey: {
    env: "SUPERSTEP_MASTER_KEY",
    describe: "Key that encrypts secrets: 32 bytes in base64. By default it is in `master.key` in the data folder.",
    schema: secret().optional(),
  },
  masterKeyFile: {
    env: "SUPERSTEP_MASTER_KEY_FILE",
    describe: "File that contains that key.",
    schema: z.string().optional(),
  },
  nextMasterKey: {
    env: "SUPERSTEP_NEXT_MASTER_KEY",
    describe: "Next key for `superstep secrets rotate-key`; required when the present key comes from a setting.",
    schema: secret().optional(),
  },
  resourceTiers: {
    env: "SUPERSTEP_RESOURCE_TIERS",
    describe:
      'Resources of each named tier, as JSON: `{"compute": {"DEDICATED_S": {"cpu": 1, "memory_mb": 1024}}, "database": {}}`; they replace the built-in ones.',
    schema: json(resourceTiersSchema, "expected the tiers of compute and database, as JSON")
      .optional()
      .transform(resourceTiersOf),
    defaultText: "built-in tiers",
  },
  deploymentsPerWorkspace: {
    env: "SUPERSTEP_WORKSPACE_DEPLOYMENTS",
    describe: "Most deployments of a workspace, unless the operator sets another quota for it.",
    schema: count.default(200),
  },
  unitsPerWorkspace: {
    env: "SUPERSTEP_WORKSPACE_UNITS",
    describe:
      "Most units (replicas) of all deployments of a workspace together, unless the operator sets another quota; each deployment counts as at least one, also while it sleeps.",
    schema: count.default(200),
  },
  memoryPerWorkspaceMb: {
    env: "SUPERSTEP_WORKSPACE_MEMORY_MB",
    describe:
      "Most memory that the units of a workspace may use together, in megabytes, unless the operator sets another quota; a unit without `memory_mb` counts as 2048.",
    schema: count.default(524_288),
  },
  cpuPerWorkspace: {
    env: "SUPERSTEP_WORKSPACE_CPU",
    describe:
      "Most processors that the units of a workspace may use together, unless the operator sets another quota; a unit without `cpu` counts as 2.",
    schema: count.default(512),
  },
  buildsPerWorkspace: {
    env: "SUPERSTEP_WORKSPACE_BUILDS",
    describe:
      "Most revisions of a workspace that are fetched or built at the same time, unless the operator sets another quota; further ones wait.",
    schema: count.default(4),
  },
  diskPerWorkspaceMb: {
    env: "SUPERSTEP_WORKSPACE_DISK_MB",
    describe:
      "Most disk that artifacts, caches and uploaded archives of a workspace may use together, in megabytes, unless the operator sets another quota; a build that would exceed it fails.",
    schema: count.default(102_400),
  },
  hostNamesPerWorkspace: {
    env: "SUPERSTEP_WORKSPACE_HOST_NAMES",
    describe: "Most host names of all deployments of a workspace, unless the operator sets another quota.",
    schema: count.default(20),
  },
  isolation: {
    env: "SUPERSTEP_ISOLATION",
    describe:
      "`required`: the platform does not start where deployments are not isolated from each other (docs/security.md). `auto`: it starts, and its log says so.",
    schema: z.enum(["auto", "required"]).default("auto"),
  },
  maxBuilds: {
    env: "SUPERSTEP_MAX_BUILDS",
    describe:
      "Most concurrent builds; by default half the number of processors. One more may run, for a workspace without a running build.",
    schema: count.optional(),
  },
  nodeDirs: {
    env: "SUPERSTEP_NODE_DIRS",
    describe:
      "Folders with other versions of Node, separated by colons, for agents; the folders of nvm, fnm, volta, mise, asdf and n are searched anyway.",
    schema: z
      .string()
      .transform((folders) => folders.split(delimiter).filter((folder) => folder !== ""))
      .default([]),
    defaultText: "",
  },
  fetchesNode: {
    env: "SUPERSTEP_FETCH_NODE",
    describe:
      "`1`: where the computer has no Node 24, a build that may use it fetches it once from the npm registry. `0`: builds use what is installed. With the machine `process`, on Linux.",
    ...flag(true),
  },
  keepArtifacts: {
    env: "SUPERSTEP_KEEP_ARTIFACTS",
    describe: "How many deployed revisions of a deployment keep their artifact and their secrets.",
    schema: count.default(5),
  },
  keepEventsDays: {
    env: "SUPERSTEP_KEEP_EVENTS",
    describe: "How many days events, webhook deliveries and ended previews are kept.",
    schema: count.default(30),
  },
  keepMetricsHours: {
    env: "SUPERSTEP_KEEP_METRICS",
    describe: "How many hours samples of units and traffic are kept.",
    schema: count.default(24),
  },
  webhookPrivateNetworks: {
    env: "SUPERSTEP_WEBHOOK_PRIVATE_NETWORKS",
    describe: "1 to allow webhooks to private networks, such as 10.0.0.0/8.",
    ...flag(false),
  },
  logQuotaMb: {
    env: "SUPERSTEP_LOG_QUOTA_MB",
    describe: "Largest size of a deployment's logs, in megabytes; above it the oldest lines are deleted.",
    schema: z
      .string()
      .regex(/^\d+(\.\d+)?$/, "expected megabytes")
      .transform(Number)
      .refine((megabytes) => megabytes > 0, "expected more than 0")
      .default(100),
  },
  logDays: {
    env: "SUPERSTEP_LOG_DAYS",
    describe: "How long the output of agent servers is kept, in days.",
    schema: count.default(7),
  },
  buildLogDays: {
    env: "SUPERSTEP_BUILD_LOG_DAYS",
    describe: "How long the output of builds is kept, in days.",
    schema: count.default(30),
  },
  ...machineSettings,
  ...listenerSettings,
  ...logForwardSettings,
  ...authoritySettings,
  ...oidcSettings,
  sourceMs: {
    env: "SUPERSTEP_TIMEOUT_SOURCE",
    describe: "Time limit of a fetch, from resolving the ref until its files are stored, in seconds.",
    ...seconds(300),
  },
  installMs: {
    env: "SUPERSTEP_TIMEOUT_INSTALL",
    describe: "Time limit of an install command, in seconds.",
    ...seconds(900),
  },
  buildMs: { env: "SUPERSTEP_TIMEOUT_BUILD", describe: "Time limit of a build command, in seconds.", ...seconds(900) },
  silenceMs: {
    env: "SUPERSTEP_TIMEOUT_SILENCE",
    describe: "How long a command may print nothing, in seconds.",
    ...seconds(600),
  },
  verifyMs: {
    env: "SUPERSTEP_TIMEOUT_VERIFY",
    describe: "Time limit for loading all graphs in a build, in seconds.",
    ...seconds(60),
  },
  buildMemoryMb: {
    env: "SUPERSTEP_BUILD_MEMORY_MB",
    describe: "Memory limit of a build step with all its processes, in megabytes.",
    schema: count.default(4096),
  },
  buildDiskMb: {
    env: "SUPERSTEP_BUILD_DISK_MB",
    describe: "Disk limit of a build with its tree, packages and caches, in megabytes.",
    schema: count.default(8192),
  },
  healthMs: {
    env: "SUPERSTEP_TIMEOUT_HEALTH",
    describe: "Time in which a new agent server must become ready, in seconds.",
    ...seconds(600),
  },
  drainMs: {
    env: "SUPERSTEP_TIMEOUT_DRAIN",
    describe: "How long a replaced agent server may continue its runs and streams, in seconds.",
    ...seconds(900, { mayBeZero: true }),
  },
  watchMs: {
    env: "SUPERSTEP_WATCH",
    describe: "How long a new agent server is watched; a crash loop in this time causes a rollback, in seconds.",
    ...seconds(60, { mayBeZero: true }),
  },
  hangMs: {
    env: "SUPERSTEP_TIMEOUT_HANG",
    describe: "How long an agent server or the edge may run without answering until it is restarted, in seconds.",
    ...seconds(30),
  },
  stopGraceMs: {
    env: "SUPERSTEP_STOP_GRACE",
    describe: "How long a stopping agent server may take to return its runs to the queue, in seconds.",
    ...seconds(30, { mayBeZero: true }),
  },
  idleMs: {
    env: "SUPERSTEP_IDLE_MINUTES",
    describe:
      "After how many minutes without a request, a run or a cron a deployment sleeps, if its type or `min_scale: 0` allows it; the next request wakes it.",
    ...minutes(15),
  },
  scaleDownMs: {
    env: "SUPERSTEP_SCALE_DOWN_MINUTES",
    describe:
      "For how many minutes fewer agent servers must have been enough before a deployment with `max_scale` above `min_scale` loses one.",
    ...minutes(5, { mayBeZero: true }),
  },
  stopAllOnExit: {
    env: "SUPERSTEP_STOP_ALL_ON_EXIT",
    describe: "1: a stop signal also stops builds, agents and the edge; by default they keep running.",
    ...flag(false),
  },
  webhookSecret: {
    env: "SUPERSTEP_WEBHOOK_SECRET",
    describe:
      "Secret of git hosts' webhooks, for repositories whose integration has none of its own; two, separated by a comma, while it is being changed.",
    schema: z
      .string()
      .transform((list) => list.split(",").map((each) => each.trim()))
      .pipe(
        z.array(secret(z.string().min(16, "expected at least 16 characters"))).max(2, "expected two secrets at most"),
      )
      .default([]),
    defaultText: "none",
  },
  pollMs: {
    env: "SUPERSTEP_POLL_INTERVAL",
    describe: "How often a repository whose host sends no webhooks is polled, in seconds; 0: never.",
    ...seconds(60, { mayBeZero: true }),
  },
  crashAt: {
    env: "SUPERSTEP_CRASH_AT",
    describe: "For tests: the crash point at which the process kills itself.",
    schema: z.string().optional(),
  },
  logLevel,
} satisfies Settings

export type Config = Values<typeof settings>

/** @throws InvalidSettings  naming every problem */
export const readConfig = (environment: NodeJS.ProcessEnv = process.env): Config => readSettings(settings, environment)

/** The environment of this process; the code that starts builds, git and units selects the few variables they get. */
export const processEnvironment = (): NodeJS.ProcessEnv => process.env

/** Quotas of workspaces for which the operator has set none. */
export const defaultQuotasOf = (
  config: Pick<
    Config,
    | "deploymentsPerWorkspace"
    | "unitsPerWorkspace"
    | "memoryPerWorkspaceMb"
    | "cpuPerWorkspace"
    | "buildsPerWorkspace"
    | "diskPerWorkspaceMb"
    | "hostNamesPerWorkspace"
  >,
): Amounts => ({
  deployments: config.deploymentsPerWorkspace,
  units: config.unitsPerWorkspace,
  memory_mb: config.memoryPerWorkspaceMb,
  cpu: config.cpuPerWorkspace,
  builds: config.buildsPerWorkspace,
  disk_mb: config.diskPerWorkspaceMb,
  host_names: config.hostNamesPerWorkspace,
})

/** What builds may use on every kind of machine. */
export const buildLimitsOf = (config: Config): BuildLimits => ({
  installMs: config.installMs,
  buildMs: config.buildMs,
  silenceMs: config.silenceMs,
  verifyMs: config.verifyMs,
  memoryMb: config.buildMemoryMb,
  diskMb: config.buildDiskMb,
})

/** Whether only this machine reaches the API. With another public address, a proxy passes on what comes from elsewhere. */
export const isForThisMachine = ({ host, publicUrl }: Pick<Config, "host" | "publicUrl">): boolean =>
  isThisMachine(host) && (publicUrl === undefined || isThisMachine(new URL(publicUrl).hostname))

/** Unencrypted transports are only for one's own machine; operators of a public platform name them (decisions, 2). */
export const gitProtocolsOf = (config: Pick<Config, "gitProtocols" | "host" | "publicUrl">): readonly GitProtocol[] =>
  config.gitProtocols ?? (isForThisMachine(config) ? protocols : ["https", "ssh"])

/** The public address of agents. */
export const agentsUrlOf = ({
  agentsUrl,
  host,
  agentsPort,
  tlsCert,
}: Pick<Config, "agentsUrl" | "host" | "agentsPort" | "tlsCert">): string =>
  agentsUrl ?? `${tlsCert === undefined ? "http" : "https"}://${host.includes(":") ? `[${host}]` : host}:${agentsPort}`

/** The public address of the API. */
export const apiUrlOf = ({
  publicUrl,
  host,
  port,
  tlsCert,
}: Pick<Config, "publicUrl" | "host" | "port" | "tlsCert">): string =>
  publicUrl ?? `${tlsCert === undefined ? "http" : "https"}://${host.includes(":") ? `[${host}]` : host}:${port}`

/** Where the console is served, as browsers name it. */
export const consoleOriginsOf = ({ publicUrl, host, port, tlsCert }: Config): readonly string[] =>
  ownOrigins({ publicUrl, host, port, hasTls: tlsCert !== undefined, machineNames: [hostname(), ...ownAddresses()] })

const ownAddresses = (): string[] =>
  Object.values(networkInterfaces()).flatMap((entries) => (entries ?? []).map(({ address }) => address))

/** Names under which callers reach the API and the agents. */
export const ownNamesOf = (config: Config): ReadonlySet<string> =>
  new Set(
    [config.host, hostname(), new URL(agentsUrlOf(config)).hostname, new URL(apiUrlOf(config)).hostname].map(
      (name) => canonicalHostName(name) ?? name,
    ),
  )
