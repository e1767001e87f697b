/** Settings of the control plane. */
import { delimiter, resolve } from "node:path"
import { logLevel } from "@superstep/toolkit/config/log-level"
import { readSettings, Secret, type Settings, type Values } from "@superstep/toolkit/config/settings"
import { z } from "zod"
import type { GitProtocol } from "./deployments/repository.js"
import { resourceTiersOf, resourceTiersSchema } from "./deployments/resource-tiers.js"
import { networks } from "./edge/config.js"

const protocols = ["https", "ssh", "http", "file", "git"] as const satisfies readonly GitProtocol[]

const port = (fallback: number) =>
  z
    .string()
    .regex(/^\d+$/, "expected a port number")
    .transform(Number)
    .refine((number) => number <= 65_535, "expected a port number")
    .default(fallback)

/** A limit that is written in seconds and used in milliseconds. */
const seconds = (fallback: number) => ({
  schema: z
    .string()
    .regex(/^\d+(\.\d+)?$/, "expected seconds")
    .transform((text) => Number(text) * 1000)
    .default(fallback * 1000),
  defaultText: `\`${fallback}\``,
})

const count = z
  .string()
  .regex(/^[1-9]\d*$/, "expected a whole number above 0")
  .transform(Number)
const text = z.string().optional()
const file = z
  .string()
  .transform((path) => resolve(path))
  .optional()
const url = z.url({ protocol: /^https?$/, message: "expected an http or https address" }).optional()

function parsedJson(text: string, ctx: z.RefinementCtx): unknown {
  try {
    return JSON.parse(text)
  } catch {
    ctx.addIssue({ code: "custom", message: "expected JSON" })
    return z.NEVER
  }
}

export const settings = {
  home: {
    env: "SUPERSTEP_HOME",
    describe: "Data folder.",
    schema: z
      .string()
      .default(".superstep")
      .transform((path) => resolve(path)),
    defaultText: "`.superstep`",
  },
  host: { env: "SUPERSTEP_HOST", describe: "Address to listen on.", schema: z.string().default("127.0.0.1") },
  port: { env: "SUPERSTEP_PORT", describe: "Port of the API and the console.", schema: port(8900) },
  agentsPort: { env: "SUPERSTEP_AGENTS_PORT", describe: "Port of the deployed agents.", schema: port(8901) },
  publicUrl: {
    env: "SUPERSTEP_PUBLIC_URL",
    describe: "Where the API is reached, when a proxy is in front.",
    schema: url,
  },
  agentsUrl: {
    env: "SUPERSTEP_AGENTS_URL",
    describe: "Where agents are reached, when a proxy is in front.",
    schema: url,
  },
  tlsCert: {
    env: "SUPERSTEP_TLS_CERT",
    describe:
      "PEM file of the certificate with which the API and agents answer HTTPS; a new one is used from the next connection on.",
    schema: file,
  },
  tlsKey: {
    env: "SUPERSTEP_TLS_KEY",
    describe: "PEM file of that certificate's key, without a passphrase.",
    schema: file,
  },
  requestsPerSecond: {
    env: "SUPERSTEP_REQUESTS_PER_SECOND",
    describe:
      "Most requests that a deployment of the type `prod` gets in a second; more get 429 with Retry-After. 0 for no limit.",
    schema: z.string().regex(/^\d+$/, "expected a whole number").transform(Number).default(500),
  },
  trustedProxies: {
    env: "SUPERSTEP_TRUSTED_PROXIES",
    describe: "Addresses or networks, by comma, of reverse proxies whose X-Forwarded headers are believed.",
    schema: z
      .string()
      .default("")
      .superRefine((text, context) => {
        for (const { message } of networks.safeParse(text).error?.issues ?? []) {
          context.addIssue({ code: "custom", message })
        }
      }),
  },
  keyFailuresPerMinute: {
    env: "SUPERSTEP_KEY_FAILURES",
    describe: "How many wrong API keys an address may try in a minute before it gets 429.",
    schema: count.default(100),
  },
  databaseUri: {
    env: "DATABASE_URI",
    describe: "Postgres database of the control plane; its role may create databases and roles.",
    schema: z
      .string("expected a postgres:// address")
      .startsWith("postgres", "expected a postgres:// address")
      .transform((uri) => new Secret(uri)),
  },
  databaseConnections: {
    env: "SUPERSTEP_DATABASE_CONNECTIONS",
    describe:
      "Most database connections of all agents together; unless set, what the server's `max_connections` leaves after 20 for the platform.",
    schema: count.optional(),
  },
  gitProtocols: {
    env: "SUPERSTEP_GIT_PROTOCOLS",
    describe: "What git may fetch with, by comma: https, ssh; also http, file, git while SUPERSTEP_HOST is loopback.",
    schema: z
      .string()
      .transform((list) => list.split(",").map((name) => name.trim()))
      .pipe(z.array(z.enum(protocols)))
      .optional(),
  },
  masterKey: {
    env: "SUPERSTEP_MASTER_KEY",
    describe: "Key that seals secrets: 32 bytes in base64. Without it, a file in the data folder holds one.",
    schema: z
      .string()
      .transform((key) => new Secret(key))
      .optional(),
  },
  masterKeyFile: { env: "SUPERSTEP_MASTER_KEY_FILE", describe: "File that holds that key.", schema: text },
  nextMasterKey: {
    env: "SUPERSTEP_NEXT_MASTER_KEY",
    describe: "Key that `superstep secrets rotate-key` changes to; needed when the present one comes from a setting.",
    schema: z
      .string()
      .transform((key) => new Secret(key))
      .optional(),
  },
  resourceTiers: {
    env: "SUPERSTEP_RESOURCE_TIERS",
    describe:
      'What the names of sizes mean, as JSON: `{"compute": {"DEDICATED_S": {"cpu": 1, "memory_mb": 1024}}, "database": {}}`.',
    schema: z.string().transform(parsedJson).pipe(resourceTiersSchema).optional().transform(resourceTiersOf),
    defaultText: "a table of its own",
  },
  unitsPerWorkspace: {
    env: "SUPERSTEP_WORKSPACE_UNITS",
    describe:
      "Most units (replicas) of all deployments of a workspace together; each deployment counts as one at least, asleep or not.",
    schema: count.default(200),
  },
  maxBuilds: {
    env: "SUPERSTEP_MAX_BUILDS",
    describe: "Builds at once; half the processors unless set.",
    schema: count.optional(),
  },
  nodeDirs: {
    env: "SUPERSTEP_NODE_DIRS",
    describe:
      "Folders by colon with other versions of Node, for projects that ask for one; those of nvm, fnm, volta, mise, asdf and n are known.",
    schema: z
      .string()
      .transform((folders) => folders.split(delimiter).filter((folder) => folder !== ""))
      .default([]),
    defaultText: "",
  },
  keepArtifacts: {
    env: "SUPERSTEP_KEEP_ARTIFACTS",
    describe: "How many deployed revisions of a deployment keep what they were built into, and their secrets.",
    schema: count.default(5),
  },
  keepEventsDays: {
    env: "SUPERSTEP_KEEP_EVENTS",
    describe: "How many days events, calls of webhooks and previews that have ended are kept.",
    schema: count.default(30),
  },
  keepMetricsHours: {
    env: "SUPERSTEP_KEEP_METRICS",
    describe: "How many hours samples of units and traffic are kept.",
    schema: count.default(24),
  },
  webhookPrivateNetworks: {
    env: "SUPERSTEP_WEBHOOK_PRIVATE_NETWORKS",
    describe: "1 to let webhooks go to private networks, such as 10.0.0.0/8.",
    schema: z
      .enum(["0", "1"])
      .default("0")
      .transform((flag) => flag === "1"),
    defaultText: "`0`",
  },
  logQuotaMb: {
    env: "SUPERSTEP_LOG_QUOTA_MB",
    describe: "What the logs of a deployment may take up, in megabytes; above it the oldest lines go.",
    schema: z
      .string()
      .regex(/^\d+(\.\d+)?$/, "expected megabytes")
      .transform(Number)
      .refine((megabytes) => megabytes > 0, "expected more than 0")
      .default(100),
  },
  logDays: {
    env: "SUPERSTEP_LOG_DAYS",
    describe: "How long what agent servers print is kept, in days.",
    schema: count.default(7),
  },
  buildLogDays: {
    env: "SUPERSTEP_BUILD_LOG_DAYS",
    describe: "How long what builds print is kept, in days.",
    schema: count.default(30),
  },
  sourceMs: {
    env: "SUPERSTEP_TIMEOUT_SOURCE",
    describe: "Limit of one git command, in seconds.",
    ...seconds(300),
  },
  installMs: {
    env: "SUPERSTEP_TIMEOUT_INSTALL",
    describe: "Limit of an install command, in seconds.",
    ...seconds(900),
  },
  buildMs: { env: "SUPERSTEP_TIMEOUT_BUILD", describe: "Limit of a build command, in seconds.", ...seconds(900) },
  silenceMs: {
    env: "SUPERSTEP_TIMEOUT_SILENCE",
    describe: "How long a command may print nothing, in seconds.",
    ...seconds(600),
  },
  verifyMs: {
    env: "SUPERSTEP_TIMEOUT_VERIFY",
    describe: "Limit of loading all graphs once, in seconds.",
    ...seconds(60),
  },
  buildMemoryMb: {
    env: "SUPERSTEP_BUILD_MEMORY_MB",
    describe: "Memory that a step of a build may use with all it starts, in megabytes.",
    schema: count.default(4096),
  },
  buildDiskMb: {
    env: "SUPERSTEP_BUILD_DISK_MB",
    describe: "Disk that a build may fill with its tree, packages and caches, in megabytes.",
    schema: count.default(8192),
  },
  healthMs: {
    env: "SUPERSTEP_TIMEOUT_HEALTH",
    describe: "Until a new agent server must be ready, in seconds.",
    ...seconds(600),
  },
  drainMs: {
    env: "SUPERSTEP_TIMEOUT_DRAIN",
    describe: "How long a replaced agent server may finish runs and streams, in seconds.",
    ...seconds(900),
  },
  watchMs: {
    env: "SUPERSTEP_WATCH",
    describe: "How long a new agent server is watched, and rolled back if it crashes, in seconds.",
    ...seconds(60),
  },
  hangMs: {
    env: "SUPERSTEP_TIMEOUT_HANG",
    describe:
      "How long an agent server or the edge may run and answer nothing before it is ended and started again, in seconds.",
    ...seconds(30),
  },
  stopGraceMs: {
    env: "SUPERSTEP_STOP_GRACE",
    describe: "What an agent server that is stopped has to hand its runs back, in seconds.",
    ...seconds(30),
  },
  idleMs: {
    env: "SUPERSTEP_IDLE_MINUTES",
    describe:
      "After how many minutes without a request, a run or a cron a deployment sleeps, if its type or `min_scale: 0` allows it; the next request wakes it.",
    schema: z
      .string()
      .regex(/^\d+(\.\d+)?$/, "expected minutes")
      .transform((minutes) => Number(minutes) * 60_000)
      .default(15 * 60_000),
    defaultText: "`15`",
  },
  stopAllOnExit: {
    env: "SUPERSTEP_STOP_ALL_ON_EXIT",
    describe: "1: a stop signal also ends builds, agents and the edge; else they go on.",
    schema: z
      .enum(["0", "1"])
      .default("0")
      .transform((flag) => flag === "1"),
    defaultText: "`0`",
  },
  webhookSecret: {
    env: "SUPERSTEP_WEBHOOK_SECRET",
    describe:
      "Secret of git hosts' webhooks, where an integration has none of its own; two by comma while it is changed.",
    schema: z
      .string()
      .transform((list) => list.split(",").map((secret) => secret.trim()))
      .pipe(z.array(z.string().min(16, "expected at least 16 characters")).max(2, "expected two secrets at most"))
      .transform((list) => list.map((secret) => new Secret(secret)))
      .default([]),
    defaultText: "none",
  },
  pollMs: {
    env: "SUPERSTEP_POLL_INTERVAL",
    describe: "How often a repository whose host sends no webhooks is looked at, in seconds; 0: never.",
    ...seconds(60),
  },
  crashAt: { env: "SUPERSTEP_CRASH_AT", describe: "For tests: the crash point to die at.", schema: text },
  logLevel,
} satisfies Settings

export type Config = Values<typeof settings>

/** @throws InvalidSettings  naming every problem */
export const readConfig = (environment: NodeJS.ProcessEnv = process.env): Config => readSettings(settings, environment)

/** Of this process; what few names of it builds, git and units get is decided where they are started. */
export const processEnvironment = (): NodeJS.ProcessEnv => process.env

/** Plain transports are for one's own machine; who opens the platform to others names them (decisions, 2). */
export const gitProtocolsOf = ({ gitProtocols, host }: Pick<Config, "gitProtocols" | "host">): readonly GitProtocol[] =>
  gitProtocols ?? (isLoopback(host) ? protocols : ["https", "ssh"])

export const isLoopback = (host: string): boolean => host === "localhost" || host === "::1" || host.startsWith("127.")

/** Where agents are reached from outside. */
export const agentsUrlOf = ({
  agentsUrl,
  host,
  agentsPort,
  tlsCert,
}: Pick<Config, "agentsUrl" | "host" | "agentsPort" | "tlsCert">): string =>
  agentsUrl ?? `${tlsCert === undefined ? "http" : "https"}://${host.includes(":") ? `[${host}]` : host}:${agentsPort}`

/** Where the API is reached from outside. */
export const apiUrlOf = ({
  publicUrl,
  host,
  port,
  tlsCert,
}: Pick<Config, "publicUrl" | "host" | "port" | "tlsCert">): string =>
  publicUrl ?? `${tlsCert === undefined ? "http" : "https"}://${host.includes(":") ? `[${host}]` : host}:${port}`
