/** Settings of the agent server. The names that LangGraph Platform knows too keep its spelling (agent-server-api §18). */
import { randomUUID } from "node:crypto"
import { logLevel } from "@superstep/toolkit/config/log-level"
import { InvalidSettings, readSettings, Secret, type Settings, type Values } from "@superstep/toolkit/config/settings"
import { takeSettingsFile } from "@superstep/toolkit/config/settings-file"
import type { ListenAddress } from "@superstep/toolkit/http/listen"
import { signingSecretPattern } from "@superstep/toolkit/webhooks/signature"
import { z } from "zod"

const wholeNumber = (fallback: number, least = 0) =>
  z
    .string()
    .regex(/^\d+$/, "expected a whole number")
    .transform(Number)
    .refine((value) => value >= least, `expected at least ${least}`)
    .default(fallback)

const flag = z
  .enum(["0", "1", "true", "false"], "expected 1 or 0")
  .transform((text) => text === "1" || text === "true")
  .default(false)

const address = z.string().transform((text, context): ListenAddress => {
  if (text.startsWith("unix:")) return { socketPath: text.slice("unix:".length) }
  if (/^fd:\d+$/.test(text)) return { descriptor: Number(text.slice("fd:".length)) }
  const [, host, port] = /^(.+):(\d+)$/.exec(text) ?? []
  if (host !== undefined) return { host, port: Number(port) }
  context.addIssue({ code: "custom", message: "expected host:port, unix:/path or fd:number" })
  return z.NEVER
})

const environment = z.string().transform((text, context) => {
  const parsed = z.record(z.string(), z.string()).safeParse(safeJson(text))
  if (parsed.success) return parsed.data
  context.addIssue({ code: "custom", message: "expected a JSON object of texts" })
  return z.NEVER
})

function safeJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // What is not JSON is reported as a wrong value by the schema that reads it.
    return undefined
  }
}

export const settings = {
  configPath: { env: "SUPERSTEP_CONFIG", describe: "Path of langgraph.json.", schema: z.string("expected a path") },
  databaseUri: {
    env: "DATABASE_URI",
    describe: "Postgres database of this agent server, for example postgres://user:password@host/name.",
    schema: z.string("expected a postgres:// address").transform((text) => new Secret(text)),
  },
  listen: {
    env: "SUPERSTEP_LISTEN",
    describe:
      "Where to listen: host:port, unix:/path for a socket, or fd:3 for a socket that whoever starts the server has bound and gives it as this descriptor.",
    schema: address.default({ host: "127.0.0.1", port: 2024 }),
    defaultText: "`127.0.0.1:2024`",
  },
  serverId: {
    env: "SUPERSTEP_SERVER_ID",
    describe: "UUID that stays the same over restarts, so that a server takes its own lost runs back at once.",
    schema: z.guid("expected a UUID").default(() => randomUUID()),
    defaultText: "a new one",
  },
  revisionId: {
    env: "SUPERSTEP_REVISION_ID",
    describe: "Revision this server belongs to; without one it executes runs from the start.",
    schema: z.string().optional(),
  },
  unitToken: {
    env: "SUPERSTEP_UNIT_TOKEN",
    describe:
      "Credential that every request must carry as X-Superstep-Unit; without one, none is asked for. A server with a revision must have one.",
    schema: z
      .string()
      .optional()
      .transform((text) => (text === undefined ? undefined : new Secret(text))),
  },
  apiKeys: {
    env: "SUPERSTEP_API_KEYS",
    describe:
      "API keys by comma: every request but `/ok` must carry one of them as x-api-key; without any, none is asked for.",
    schema: z
      .string()
      .refine((text) => text.split(",").every((key) => key.trim() !== ""), "expected keys by comma, none of them empty")
      .optional()
      .transform((text) => (text === undefined ? undefined : new Secret(text))),
  },
  agentEnv: {
    env: "SUPERSTEP_AGENT_ENV",
    describe: "JSON object: environment of the graphs' code, over what langgraph.json sets.",
    schema: environment.default({}),
  },
  isDev: {
    env: "SUPERSTEP_DEV",
    describe: "1 for development: only loopback hosts and known origins may call, the Studio header is understood.",
    schema: flag,
    defaultText: "`0`",
  },
  reload: {
    env: "SUPERSTEP_RELOAD",
    describe: "1 to load changed sources while running.",
    schema: flag,
    defaultText: "`0`",
  },
  langgraphConfig: {
    env: "LANGGRAPH_CONFIG",
    describe:
      "JSON object: config and context of each graph's own assistant, as `{graph_id: {configurable, context, …}}`; the same name in the graphs' environment wins.",
    schema: z.string().optional(),
  },
  schemaTimeoutMs: {
    env: "LANGGRAPH_SCHEMA_RESOLVE_TIMEOUT_MS",
    describe:
      "How long reading a graph's schemas out of its source may take, in milliseconds; only graphs of annotations need it.",
    schema: wholeNumber(30_000, 1),
  },
  workers: {
    env: "SUPERSTEP_WORKERS",
    describe: "How many worker processes execute graphs, for each language that they are written in.",
    schema: wholeNumber(2, 1),
  },
  python: {
    env: "SUPERSTEP_PYTHON",
    describe: "Program that runs Python graphs, where the project has no .venv; it must have langgraph.",
    schema: z.string().min(1, "expected a program").default("python3"),
  },
  jobsPerWorker: {
    env: "N_JOBS_PER_WORKER",
    describe:
      "Most runs that a worker process executes at a time. It gets fewer when its event loop or its memory has no room for more.",
    schema: wholeNumber(1000, 1),
  },
  workerMemoryMb: {
    env: "SUPERSTEP_WORKER_MEMORY_MB",
    describe:
      "Most memory of one worker process, in megabytes; one that uses more is ended and replaced. Runs that execute alone have processes of their own, up to eight times the larger of 2 and `SUPERSTEP_WORKERS`, each with the same limit. 0 for no limit.",
    schema: wholeNumber(2048),
  },
  workerStalledSeconds: {
    env: "SUPERSTEP_WORKER_STALLED_SECONDS",
    describe: "How long a graph may hold the event loop of its worker process before it is ended, in seconds.",
    schema: wholeNumber(120, 1),
  },
  runTimeoutSeconds: {
    env: "BG_JOB_TIMEOUT_SECS",
    describe: "How long one attempt of a run may take, in seconds; then it ends as timeout. 0 for no limit.",
    schema: wholeNumber(3600),
  },
  poolSize: {
    env: "LANGGRAPH_POSTGRES_POOL_MAX_SIZE",
    describe:
      "Most database connections of this server. One serves leases, half of the others what runs need, the rest requests.",
    schema: wholeNumber(10, 3),
  },
  requestStatementSeconds: {
    env: "SUPERSTEP_STATEMENT_TIMEOUT_SECONDS",
    describe:
      "How long one database statement of a request may take, in seconds; then the request is answered with 503. 0 for no limit.",
    schema: wholeNumber(60),
  },
  leaseSeconds: {
    env: "SUPERSTEP_LEASE_SECONDS",
    describe:
      "How long a run stays with a server that is not heard of, in seconds; it is renewed three times in that time.",
    // Long enough for a busy database, short enough for a lost server.
    schema: wholeNumber(30, 1),
  },
  shutdownGraceSeconds: {
    env: "BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS",
    describe:
      "How long runs may go on after a stop signal, in seconds; what is left ends its super-step, for 10 s at most, and goes back to the queue.",
    schema: wholeNumber(180),
  },
  keepRunsDays: {
    env: "SUPERSTEP_KEEP_RUNS_DAYS",
    describe:
      "How long runs stay after their end, in days, but for the newest of each thread; threads stay, with their state and history. 0: as long as their threads.",
    schema: wholeNumber(0),
  },
  resumableTtlSeconds: {
    env: "RESUMABLE_STREAM_TTL_SECONDS",
    describe: "How long the events of a finished resumable run can be read again, in seconds.",
    schema: wholeNumber(120),
  },
  maxBodyBytes: {
    env: "HTTP_MAX_REQUEST_BODY_BYTES",
    describe: "Largest request body in bytes.",
    schema: wholeNumber(300 * 1024 * 1024, 1),
  },
  maxOpenRequests: {
    env: "SUPERSTEP_MAX_OPEN_REQUESTS",
    describe:
      "Most requests that are answered at a time, streams and waits included; more get 429 with Retry-After. 0 for no limit.",
    // A stream takes some 50 KB of the server's memory, and a file handle of which 16 k are usual.
    schema: wholeNumber(10_000),
  },
  maxOpenRequestsPerCaller: {
    env: "SUPERSTEP_MAX_OPEN_REQUESTS_PER_CALLER",
    describe:
      "The same for one caller: the user that the project's auth module names, else the address. 0 for no limit.",
    schema: wholeNumber(0),
  },
  maxRequestsPerMinute: {
    env: "SUPERSTEP_MAX_REQUESTS_PER_MINUTE",
    describe: "Most requests of one caller to this server in a minute; more get 429 with Retry-After. 0 for no limit.",
    schema: wholeNumber(0),
  },
  maxWaitingRuns: {
    env: "SUPERSTEP_MAX_WAITING_RUNS",
    describe: "Most runs that may wait on one thread; one more gets 429 with Retry-After. 0 for no limit.",
    // More than anybody queues on purpose, and few enough that a client in a loop is stopped within seconds.
    schema: wholeNumber(1000),
  },
  mountPrefix: {
    env: "MOUNT_PREFIX",
    describe:
      "Path such as /agents below which all routes are, where langgraph.json names none; /ok stays at the root.",
    schema: z
      .string()
      .regex(/^(\/[\w.~-]+)*\/?$/, "expected a path of plain segments that begins with /")
      .optional(),
  },
  corsAllowOrigins: {
    env: "CORS_ALLOW_ORIGINS",
    describe: "Origins of web pages that may call, by comma, where langgraph.json names none; all unless set.",
    schema: z
      .string()
      .optional()
      .transform((text) => text?.split(",").map((origin) => origin.trim())),
  },
  webhookSigningSecret: {
    env: "SUPERSTEP_WEBHOOK_SIGNING_SECRET",
    describe:
      "Secret that webhooks are signed with, as Standard Webhooks writes it: `whsec_` and 24 to 64 bytes in base64. Without one they are not signed.",
    schema: z
      .string()
      .regex(signingSecretPattern, "expected whsec_ and 24 to 64 bytes in base64")
      .optional()
      .transform((text) => (text === undefined ? undefined : new Secret(text))),
  },
  webhookPrivateNetworks: {
    env: "SUPERSTEP_WEBHOOK_PRIVATE_NETWORKS",
    describe: "1 to let webhooks go to private networks, such as 10.0.0.0/8; `superstep dev` always does.",
    schema: flag,
    defaultText: "`0`",
  },
  settingsFile: {
    env: "SUPERSTEP_SETTINGS_FILE",
    describe: "JSON file of settings that are secret, by name; it is read once at the start and removed.",
    schema: z.string().optional(),
  },
  logLevel,
} satisfies Settings

export type Config = Values<typeof settings>

/**
 * Reads all settings, and takes those that came in a file.
 * @throws InvalidSettings  naming every variable that is missing or cannot be read
 */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  const config = readSettings(settings, takeSettingsFile(env))
  // Without its credential a unit would answer whoever reaches its socket.
  if (config.revisionId !== undefined && config.unitToken === undefined) {
    throw new InvalidSettings(
      `cannot start:\n  ${settings.unitToken.env}: it must be set where ${settings.revisionId.env} is. ${settings.unitToken.describe}`,
    )
  }
  return config
}
