/** The whole environment of a unit, and what it gets in a file since it is secret (protocol/unit, "Environment"). Pure. */
import { join } from "node:path"
import { Secret } from "@superstep/toolkit/config/settings"
import { settingsFileVariable } from "@superstep/toolkit/config/settings-file"
import type { UnitSpec } from "./port.js"

/** The descriptor that a unit finds its socket at, bound by us where its user cannot replace it. */
export const unitSocketDescriptor = 3

export interface UnitPlace {
  /** The unit's own folder, with `tmp` and `data` in it. */
  readonly folder: string
  /** Holds what `unitSecrets` gives, until the unit has read it. */
  readonly settingsFile: string
}

const fromMachine = ["PATH", "LANG", "TZ"]

/** Settings of the agent server: an operator sets them for all units, a deployment's secrets for its own. */
const shutdownGrace = "BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS"
const serverSettings = [
  "LOG_LEVEL",
  "SUPERSTEP_WORKERS",
  "N_JOBS_PER_WORKER",
  "SUPERSTEP_WORKER_MEMORY_MB",
  "SUPERSTEP_WORKER_STALLED_SECONDS",
  "BG_JOB_TIMEOUT_SECS",
  "CORS_ALLOW_ORIGINS",
  "MOUNT_PREFIX",
  "SUPERSTEP_MAX_OPEN_REQUESTS",
  "SUPERSTEP_MAX_OPEN_REQUESTS_PER_CALLER",
  "SUPERSTEP_MAX_REQUESTS_PER_MINUTE",
  "SUPERSTEP_MAX_WAITING_RUNS",
  "SUPERSTEP_STATEMENT_TIMEOUT_SECONDS",
  "OTEL_EXPORTER_OTLP_ENDPOINT",
  "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
  "OTEL_RESOURCE_ATTRIBUTES",
  "OTEL_SERVICE_NAME",
  shutdownGrace,
  "RESUMABLE_STREAM_TTL_SECONDS",
  "SUPERSTEP_KEEP_RUNS_DAYS",
]

// What only the operator may decide: whom agents can reach in the network that they run in.
const operatorSettings = ["SUPERSTEP_WEBHOOK_PRIVATE_NETWORKS"]

// What certificates to trust and how to get out of a closed network is the machine's matter, and user code needs it.
const networkNames = ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"]

// The rest of the process's memory is outside JavaScript's heap: buffers, code, stacks (control-plane §6.8).
const heapShare = 0.75

/** Whatever runs as the unit's user can read it in the process table, so nothing of it is secret. */
export function unitEnvironment(spec: UnitSpec, place: UnitPlace, base: NodeJS.ProcessEnv): Record<string, string> {
  const settings = pick({ ...base, ...agentEnvironment(spec, base) }, serverSettings)
  return {
    ...pick(base, [...fromMachine, ...networkNames, ...operatorSettings]),
    ...settings,
    [shutdownGrace]: shutdownGraceOf(settings[shutdownGrace], base),
    ...heapOption(spec),
    NODE_ENV: "production",
    HOME: join(place.folder, "data"),
    TMPDIR: join(place.folder, "tmp"),
    SUPERSTEP_CONFIG: join(spec.artifactFolder, spec.configPath),
    SUPERSTEP_LISTEN: `fd:${unitSocketDescriptor}`,
    SUPERSTEP_SERVER_ID: spec.unitId,
    LANGGRAPH_POSTGRES_POOL_MAX_SIZE: String(spec.poolSize),
    SUPERSTEP_REVISION_ID: spec.revisionId,
    [settingsFileVariable]: place.settingsFile,
  }
}

// A server that waits for its runs until it is killed cannot hand them back. For that it needs up to 10 s after its grace
// time, until the super-steps under way are over (server/src/workers, P9), and 5 s to write it.
const handBackSeconds = 15
// The control plane's own default of SUPERSTEP_STOP_GRACE.
const defaultStopGraceSeconds = 30

/** What is asked for, as far as the control plane waits for it when it stops a unit. In whole seconds. */
function shutdownGraceOf(asked: string | undefined, base: NodeJS.ProcessEnv): string {
  const stopGraceSeconds = Number(base.SUPERSTEP_STOP_GRACE || defaultStopGraceSeconds)
  const most = Math.max(0, Math.floor(stopGraceSeconds - handBackSeconds))
  // What is no number stays, for the server to refuse in its own words.
  return asked === undefined || Number(asked) > most ? String(most) : asked
}

// The operator's is for all units, a deployment's secret for its own.
const signingSecret = "SUPERSTEP_WEBHOOK_SIGNING_SECRET"

/** The settings that user code must not find. */
export const unitSecrets = (spec: UnitSpec, base: NodeJS.ProcessEnv): Record<string, Secret> => ({
  ...secretSetting(signingSecret, spec.agentEnv[signingSecret]?.reveal() ?? base[signingSecret]),
  SUPERSTEP_UNIT_TOKEN: spec.token,
  SUPERSTEP_AGENT_ENV: new Secret(JSON.stringify(agentEnvironment(spec, base))),
  DATABASE_URI: spec.databaseUri,
})

/** The environment of the user's code. */
function agentEnvironment(spec: UnitSpec, base: NodeJS.ProcessEnv): Record<string, string> {
  const secrets = Object.entries(spec.agentEnv).map(([name, value]) => [name, value.reveal()])
  return { ...pick(base, networkNames), ...heapOption(spec), ...Object.fromEntries(secrets) }
}

const secretSetting = (name: string, value: string | undefined): Record<string, Secret> =>
  value === undefined ? {} : { [name]: new Secret(value) }

const heapOption = ({ memoryMb }: UnitSpec): Record<string, string> =>
  memoryMb === undefined ? {} : { NODE_OPTIONS: heapLimit(memoryMb) }

const heapLimit = (memoryMb: number): string => `--max-old-space-size=${Math.round(memoryMb * heapShare)}`

const pick = (base: NodeJS.ProcessEnv, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value = base[name]
      return value === undefined ? [] : [[name, value]]
    }),
  )
