/** Settings of the agent server. Settings that LangGraph Platform also has keep their names (agent-server-api §18). */
import { randomUUID } from "node:crypto"
import { databaseAddress } from "@superstep/toolkit/config/database-address"
import { logLevel } from "@superstep/toolkit/config/log-level"
import { InvalidSettings, readSettings, type Settings, type Values } from "@superstep/toolkit/config/settings"
import { flag, json, port, secret, wholeNumber } from "@superstep/toolkit/config/texts"
import type { ListenAddress } from "@superstep/toolkit/http/listen"
import { defaultKeepAliveMs } from "@superstep/toolkit/http/long-answer"
import { signingSecretPattern } from "@superstep/toolkit/webhooks/signature"
import { z } from "zod"
import { traceSettings } from "./tracing/trace-setting.js"

const address = z.string().transform((text, context): ListenAddress => {
  if (text.startsWith("unix:")) return { socketPath: text.slice("unix:".length) }
  if (/^fd:\d+$/.test(text)) return { descriptor: Number(text.slice("fd:".length)) }
  const [, host, port] = /^(.+):(\d+)$/.exec(text) ?? []
  if (host !== undefined) return { host, port: Number(port) }
  context.addIssue({ code: "custom", message: "expected host:port, unix:/path or fd:number" })
  return z.NEVER
})

export const settings = {
  configPath: { env: "SUPERSTEP_CONFIG", describe: "Path of langgraph.json.", schema: z.string("expected a path") },
  name: {
    env: "SUPERSTEP_NAME",
    describe: "Name of this server in the titles of its processes.",
    schema: z.string().optional(),
    defaultText: "the project's folder",
  },
  databaseUri: {
    env: "DATABASE_URI",
    describe: "Postgres database of this agent server, for example postgres://user:password@host/name.",
    schema: databaseAddress,
  },
  listen: {
    env: "SUPERSTEP_LISTEN",
    describe:
      "Where to listen: host:port, unix:/path for a socket, or fd:3 for a socket that the parent process has bound and passes as this descriptor.",
    schema: address.optional(),
    defaultText: "port `PORT` of all addresses, if that is set; else `127.0.0.1:2024`",
  },
  port: {
    env: "PORT",
    describe: "Where to listen without SUPERSTEP_LISTEN, as in a container that another platform starts.",
    schema: port.optional(),
  },
  serverId: {
    env: "SUPERSTEP_SERVER_ID",
    describe: "UUID of the server. If it is the same after a restart, the server takes back its own lost runs at once.",
    schema: z.guid("expected a UUID").default(() => randomUUID()),
    defaultText: "a new one at each start",
  },
  revisionId: {
    env: "SUPERSTEP_REVISION_ID",
    describe: "Revision of this server. Without one the server executes runs from its start.",
    schema: z.string().optional(),
  },
  unitToken: {
    env: "SUPERSTEP_UNIT_TOKEN",
    describe:
      "Credential that every request must send as X-Superstep-Unit. Unset: not required. A server with a revision must have one.",
    schema: secret().optional(),
  },
  apiKeys: {
    env: "SUPERSTEP_API_KEYS",
    describe:
      "API keys, separated by commas. Every request except `/ok` must send one of them as x-api-key. Unset: no key is required.",
    schema: secret(
      z
        .string()
        .refine(
          (text) => text.split(",").every((key) => key.trim() !== ""),
          "expected keys separated by commas, none of them empty",
        ),
    ).optional(),
  },
  agentEnv: {
    env: "SUPERSTEP_AGENT_ENV",
    describe: "JSON object: environment variables of the graphs; they override those of langgraph.json.",
    schema: json(z.record(z.string(), z.string()), "expected a JSON object with string values").default({}),
  },
  isDev: {
    env: "SUPERSTEP_DEV",
    describe:
      "1 for development: only requests for loopback hosts and from known origins are accepted, and Studio's header is recognized.",
    ...flag(false),
  },
  reload: {
    env: "SUPERSTEP_RELOAD",
    describe: "1 to reload changed source files while running.",
    ...flag(false),
  },
  langgraphConfig: {
    env: "LANGGRAPH_CONFIG",
    describe:
      "JSON object: config and context of each graph's system assistant, as `{graph_id: {configurable, context, …}}`. The same variable in the graphs' environment wins.",
    schema: z.string().optional(),
  },
  schemaTimeoutMs: {
    env: "LANGGRAPH_SCHEMA_RESOLVE_TIMEOUT_MS",
    describe:
      "Time limit for reading a graph's schemas from its source code, in milliseconds. Only graphs without schemas at run time need it.",
    schema: wholeNumber({ least: 1 }).default(30_000),
  },
  workers: {
    env: "SUPERSTEP_WORKERS",
    describe:
      "Maximum number of worker processes per language. A server starts with one per language and adds more when the load requires it.",
    schema: wholeNumber({ least: 1 }).default(2),
  },
  python: {
    env: "SUPERSTEP_PYTHON",
    describe: "Python interpreter for projects without a .venv; it must have langgraph installed.",
    schema: z.string().min(1, "expected a program").default("python3"),
  },
  jobsPerWorker: {
    env: "N_JOBS_PER_WORKER",
    describe:
      "Maximum number of concurrent runs of a worker process. It gets fewer when its event loop or its memory is at its limit.",
    schema: wholeNumber({ least: 1 }).default(1000),
  },
  workerMemoryMb: {
    env: "SUPERSTEP_WORKER_MEMORY_MB",
    describe:
      "Memory limit of a worker process, in megabytes. A process that exceeds it is killed and replaced. Runs that execute alone have their own processes, up to eight times the larger of 2 and `SUPERSTEP_WORKERS`, each with the same limit. 0 for no limit.",
    schema: wholeNumber().default(2048),
  },
  workerStalledSeconds: {
    env: "SUPERSTEP_WORKER_STALLED_SECONDS",
    describe:
      "How long a graph may block the event loop of its worker process before the process is killed, in seconds. A run that blocks it twice with nothing else in the process ends as `WorkerLost`. Raise it for nodes that compute longer without a pause; plain functions of Python graphs run in threads and need not.",
    schema: wholeNumber({ least: 1 }).default(30),
  },
  runTimeoutSeconds: {
    env: "BG_JOB_TIMEOUT_SECS",
    describe: "Time limit of one attempt of a run, in seconds. Then the run ends with status timeout. 0 for no limit.",
    schema: wholeNumber().default(3600),
  },
  poolSize: {
    env: "LANGGRAPH_POSTGRES_POOL_MAX_SIZE",
    describe:
      "Maximum number of database connections of this server. One is for leases; a quarter of the others is for what graphs read, and half of the rest each for executing runs and for requests.",
    schema: wholeNumber({ least: 4 }).default(10),
  },
  requestStatementSeconds: {
    env: "SUPERSTEP_STATEMENT_TIMEOUT_SECONDS",
    describe:
      "Time limit of one database statement of a request, in seconds. Then the request gets 503. 0 for no limit.",
    schema: wholeNumber().default(60),
  },
  leaseSeconds: {
    env: "SUPERSTEP_LEASE_SECONDS",
    describe:
      "How long a server keeps its runs without renewing its lease, in seconds. It renews it three times in that period.",
    // Long enough for a busy database, and short enough to recover the runs of a lost server soon.
    schema: wholeNumber({ least: 1 }).default(30),
  },
  shutdownGraceSeconds: {
    env: "BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS",
    describe:
      "How long runs may continue after a stop signal, in seconds. Unfinished runs then finish their super-step, within at most 10 s, and return to the queue.",
    schema: wholeNumber().default(180),
  },
  keepRunsDays: {
    env: "SUPERSTEP_KEEP_RUNS_DAYS",
    describe:
      "How long runs are kept after their end, in days, except the newest run of each thread. Threads are kept, with their state and history. 0: as long as their threads.",
    schema: wholeNumber().default(0),
  },
  traces: {
    env: "SUPERSTEP_TRACES",
    describe:
      "What is recorded of runs: `full`, what each graph, node, model and tool did, when, and what went in and out; `timings`, without the latter; `off`, nothing.",
    schema: z.enum(traceSettings, "expected off, timings or full").default("full"),
  },
  keepTracesDays: {
    env: "SUPERSTEP_KEEP_TRACES_DAYS",
    describe: "How long the traces of runs are kept, in days. They are deleted with their runs and threads.",
    schema: wholeNumber({ least: 1 }).default(7),
  },
  exportsContent: {
    env: "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT",
    describe:
      "`true` to send prompts, answers, and arguments and results of tools to the collector of OTEL_EXPORTER_OTLP_ENDPOINT, too.",
    // Newer conventions name where it is captured.
    schema: z
      .string()
      .transform((text) => /^(1|true|span_only|span_and_event)$/i.test(text))
      .default(false),
    defaultText: "`false`",
  },
  resumableTtlSeconds: {
    env: "RESUMABLE_STREAM_TTL_SECONDS",
    describe: "How long the events of a finished resumable run can be read again, in seconds; 0 counts as 1.",
    schema: wholeNumber()
      .transform((seconds) => Math.max(1, seconds))
      .default(120),
  },
  keepAliveSeconds: {
    env: "SUPERSTEP_KEEP_ALIVE_SECONDS",
    describe:
      "How often an answer that takes long sends a byte, in seconds, from 1 to 15. A proxy must keep silent connections open for longer than twice this time.",
    schema: wholeNumber({ least: 1, most: 15 }).default(defaultKeepAliveMs / 1000),
  },
  maxBodyBytes: {
    env: "HTTP_MAX_REQUEST_BODY_BYTES",
    describe: "Maximum size of a request body, in bytes.",
    schema: wholeNumber({ least: 1 }).default(300 * 1024 * 1024),
  },
  maxOpenRequests: {
    env: "SUPERSTEP_MAX_OPEN_REQUESTS",
    describe:
      "Maximum number of open requests, including streams and waits. More get 429 with Retry-After. 0 for no limit.",
    // A stream takes about 50 KB of memory and a file handle; 16,000 handles are a common limit.
    schema: wholeNumber().default(10_000),
  },
  maxOpenRequestsPerCaller: {
    env: "SUPERSTEP_MAX_OPEN_REQUESTS_PER_CALLER",
    describe:
      "Maximum number of open requests per caller: the user of the project's auth module, else the client's address. 0 for no limit.",
    schema: wholeNumber().default(0),
  },
  maxRequestsPerMinute: {
    env: "SUPERSTEP_MAX_REQUESTS_PER_MINUTE",
    describe:
      "Maximum number of requests per caller and minute to this server. More get 429 with Retry-After. 0 for no limit.",
    schema: wholeNumber().default(0),
  },
  maxWaitingRuns: {
    env: "SUPERSTEP_MAX_WAITING_RUNS",
    describe: "Maximum number of waiting runs on one thread. More get 429 with Retry-After. 0 for no limit.",
    // More than users queue on purpose, and few enough to stop a client in an endless loop within seconds.
    schema: wholeNumber().default(1000),
  },
  mountPrefix: {
    env: "MOUNT_PREFIX",
    describe: "Path prefix of all routes, such as /agents, if langgraph.json sets none. /ok stays at the root.",
    schema: z
      .string()
      .regex(/^(\/[\w.~-]+)*\/?$/, "expected a path of plain segments that begins with /")
      .optional(),
  },
  corsAllowOrigins: {
    env: "CORS_ALLOW_ORIGINS",
    describe: "Allowed origins of web pages, separated by commas, if langgraph.json sets none. Unset: all.",
    schema: z
      .string()
      .optional()
      .transform((text) => text?.split(",").map((origin) => origin.trim())),
  },
  webhookSigningSecret: {
    env: "SUPERSTEP_WEBHOOK_SIGNING_SECRET",
    describe:
      "Secret for signing webhooks, in the format of Standard Webhooks: `whsec_` and 24 to 64 bytes in base64. Unset: webhooks are not signed.",
    schema: secret(z.string().regex(signingSecretPattern, "expected whsec_ and 24 to 64 bytes in base64")).optional(),
  },
  webhookPrivateNetworks: {
    env: "SUPERSTEP_WEBHOOK_PRIVATE_NETWORKS",
    describe: "1 to allow webhooks to private networks, such as 10.0.0.0/8. `superstep dev` always allows them.",
    ...flag(false),
  },
  settingsFile: {
    env: "SUPERSTEP_SETTINGS_FILE",
    describe: "JSON file with secret settings by name. It is read at the start and deleted.",
    schema: z.string().optional(),
  },
  logLevel,
} satisfies Settings

export type Config = Omit<Values<typeof settings>, "listen" | "port"> & { readonly listen: ListenAddress }

/**
 * Reads all settings.
 * @param env  with the content of a settings file, if there is one
 * @throws InvalidSettings  naming every variable that is missing or invalid
 */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  const { listen, port, ...config } = readSettings(settings, env)
  // Without its credential a unit would accept requests of every process that can reach its socket.
  if (config.revisionId !== undefined && config.unitToken === undefined) {
    throw new InvalidSettings(
      `cannot start:\n  ${settings.unitToken.env}: it must be set, because ${settings.revisionId.env} is set. ${settings.unitToken.describe}`,
    )
  }
  const usual = port === undefined ? { host: "127.0.0.1", port: 2024 } : { host: "0.0.0.0", port }
  return { ...config, listen: listen ?? usual }
}
