/** The environment of a unit, and its secret settings, which it gets in a file (protocol/unit, "Environment"). Pure. */

import { join } from "node:path"
import { isPlatformSetting } from "@superstep/protocol/unit/platform-settings"
import { revealAll, Secret, secretsOf } from "@superstep/toolkit/config/settings"
import { settingsFileVariable } from "@superstep/toolkit/config/settings-file"
import type { UnitSpec } from "../../port/port.js"

/** The descriptor of a unit's socket. We bind it, in a folder where the unit's user cannot replace it. */
export const unitSocketDescriptor = 3

export interface UnitPlace {
  /** The unit's own folder, which contains `tmp` and `data`. */
  readonly folder: string
  /** Contains the result of `unitSecrets` until the unit has read it. */
  readonly settingsFile: string
  readonly artifactFolder: string
  /** The variables that `langgraph.json` sets. */
  readonly configEnv: Readonly<Record<string, string>>
}

const fromMachine = ["PATH", "LANG", "TZ"]

// An address may contain a password or a key.
const addressSettings = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"]

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
  ...addressSettings,
  "OTEL_RESOURCE_ATTRIBUTES",
  "OTEL_SERVICE_NAME",
  "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT",
  "SUPERSTEP_TRACES",
  "SUPERSTEP_KEEP_TRACES_DAYS",
  shutdownGrace,
  "RESUMABLE_STREAM_TTL_SECONDS",
  "SUPERSTEP_KEEP_RUNS_DAYS",
]

// Only the operator may decide which hosts of the network agents can reach.
const operatorSettings = ["SUPERSTEP_WEBHOOK_PRIVATE_NETWORKS"]

// Trusted certificates and proxies belong to the machine, and user code needs them.
const certificateNames = ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"]
const networkNames = [...certificateNames, "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"]

// The rest of the process's memory is outside JavaScript's heap: buffers, code, stacks (control-plane §6.8).
const heapShare = 0.75

/** Every process of the unit's user can read it in the process table, and an engine shows it, so it contains no secret. */
export function unitEnvironment(spec: UnitSpec, place: UnitPlace, base: NodeJS.ProcessEnv): Record<string, string> {
  const settings = Object.entries(serverSettingsOf(spec, place, base)).filter(([name]) => !isHidden(name, spec))
  return {
    ...pick(base, [...fromMachine, ...certificateNames, ...operatorSettings]),
    ...Object.fromEntries(settings),
    ...heapOption(spec),
    NODE_ENV: "production",
    HOME: join(place.folder, "data"),
    TMPDIR: join(place.folder, "tmp"),
    SUPERSTEP_CONFIG: join(place.artifactFolder, spec.configPath),
    SUPERSTEP_LISTEN: `fd:${unitSocketDescriptor}`,
    SUPERSTEP_NAME: spec.name,
    SUPERSTEP_SERVER_ID: spec.unitId,
    LANGGRAPH_POSTGRES_POOL_MAX_SIZE: String(spec.poolSize),
    SUPERSTEP_REVISION_ID: spec.revisionId,
    [settingsFileVariable]: place.settingsFile,
  }
}

function serverSettingsOf(spec: UnitSpec, place: UnitPlace, base: NodeJS.ProcessEnv): Record<string, string> {
  const settings = pick({ ...base, ...agentEnvironment(spec, place, base) }, serverSettings)
  return { ...settings, [shutdownGrace]: shutdownGraceOf(settings[shutdownGrace], base) }
}

/** Whether the unit gets a setting in its file only: the value of a secret of the deployment, or an address. */
const isHidden = (name: string, { secrets }: UnitSpec): boolean =>
  addressSettings.includes(name) || (Object.hasOwn(secrets, name) && !isPlatformSetting(name))

// A server that waits for its runs until it is killed cannot hand them back. After its grace time it needs up to 10 s for that,
// until the current super-steps have finished (server/src/workers, P9), and 5 s to write it.
const handBackSeconds = 15
// The default of the control plane's SUPERSTEP_STOP_GRACE.
const defaultStopGraceSeconds = 30

/** The requested time, at most as long as the control plane waits when it stops a unit. In whole seconds. */
function shutdownGraceOf(asked: string | undefined, base: NodeJS.ProcessEnv): string {
  const stopGraceSeconds = Number(base.SUPERSTEP_STOP_GRACE || defaultStopGraceSeconds)
  const most = Math.max(0, Math.floor(stopGraceSeconds - handBackSeconds))
  // Text that is no number is passed on: the server rejects it with its own message.
  return asked === undefined || Number(asked) > most ? String(most) : asked
}

// The operator's value applies to all units, a deployment's secret to its own.
const signingSecret = "SUPERSTEP_WEBHOOK_SIGNING_SECRET"

/** Settings that must be hidden from user code. */
export const unitSecrets = (spec: UnitSpec, place: UnitPlace, base: NodeJS.ProcessEnv): Record<string, Secret> => ({
  ...secretsOf(
    Object.fromEntries(Object.entries(serverSettingsOf(spec, place, base)).filter(([name]) => isHidden(name, spec))),
  ),
  ...secretSetting(signingSecret, ownVariables(spec, place)[signingSecret] ?? base[signingSecret]),
  SUPERSTEP_UNIT_TOKEN: spec.token,
  SUPERSTEP_AGENT_ENV: new Secret(JSON.stringify(agentEnvironment(spec, place, base))),
  DATABASE_URI: spec.databaseUri,
})

/** The environment of the user's code. Settings of ours in it come from an artifact of a release that did not refuse them. */
function agentEnvironment(spec: UnitSpec, place: UnitPlace, base: NodeJS.ProcessEnv): Record<string, string> {
  const own = Object.entries(ownVariables(spec, place)).filter(([name]) => !isPlatformSetting(name))
  return { ...pick(base, networkNames), ...heapOption(spec), ...Object.fromEntries(own) }
}

/** What `langgraph.json` sets, overlaid by the deployment's secrets. */
const ownVariables = ({ secrets }: UnitSpec, { configEnv }: UnitPlace): Record<string, string> => ({
  ...configEnv,
  ...revealAll(secrets),
})

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
