/** How a unit becomes a container: names, labels, limits, folders. Pure. */

import { join } from "node:path"
import { places } from "@superstep/oci/project-image"
import { Secret } from "@superstep/toolkit/config/settings"
import { mostProcesses } from "@superstep/toolkit/exec/process-limits"
import type { OsUser } from "@superstep/toolkit/exec/spawn-detached"
import type { UnitSpec } from "../port/port.js"

/** Only containers, networks and images with our label are ours. */
export const labels = {
  home: "superstep.home",
  unit: "superstep.unit",
  deployment: "superstep.deployment",
  revision: "superstep.revision",
  artifact: "superstep.artifact",
  base: "superstep.base",
  runtime: "superstep.runtime",
  /** Of a unit that runs an image of somebody else. */
  guest: "superstep.guest",
  /** Of the container beside it: the unit's id. It is no unit. */
  companion: "superstep.companion",
  /** Of a unit whose memory the engine limits. */
  memoryMb: "superstep.memory_mb",
} as const

/** Paths in a container. */
export const inside = {
  app: `/${places.project}`,
  unit: "/superstep/unit",
  sockets: "/superstep/sockets",
  socket: "/superstep/sockets/unit.sock",
} as const

/** Unit ids are unique, also among installations. */
export const containerName = (unitId: string): string => `superstep-unit-${unitId}`

const megabyte = 1024 * 1024
// Units print to their logs, which are read at once; the engine keeps what was printed while nobody read.
const logOptions = { "max-size": "16m", "max-file": "2" }

export interface ContainerPlace {
  readonly homeId: string
  readonly image: string
  readonly network: string
  readonly user: OsUser
  /** Variables that are no secret. Secrets are in a file of the unit's folder, since an engine shows variables to whoever asks. */
  readonly environment: Readonly<Record<string, string>>
  /** Folders of this computer: the unit's own with `data` and `tmp`, that of its socket, and that of stored schemas. */
  readonly unitFolder: string
  readonly socketFolder: string
  readonly schemas: { readonly from: string; readonly to: string } | undefined
  /** Of a Postgres on this computer. */
  readonly databaseFolder: string | undefined
  /** Files of this computer, and their places in the container. */
  readonly certificates: readonly MountedFile[]
}

export interface MountedFile {
  readonly from: string
  readonly to: string
}

/** The body of the engine's request to create it. */
export function containerOf(spec: UnitSpec, place: ContainerPlace) {
  const { unitFolder, socketFolder, databaseFolder, schemas, network } = place
  return {
    ...confined({
      ...place,
      limits: spec.limits,
      labels: unitLabels(spec, place.homeId),
      hosts: network === "none" || network === "host" ? [] : [thisComputer],
      binds: [
        bind(join(unitFolder, "data"), join(inside.unit, "data")),
        bind(join(unitFolder, "tmp"), join(inside.unit, "tmp")),
        bind(socketFolder, inside.sockets),
        ...(schemas ? [readOnly(schemas)] : []),
        ...place.certificates.map(readOnly),
        ...(databaseFolder === undefined ? [] : [readOnly({ from: databaseFolder, to: databaseFolder })]),
      ],
    }),
    WorkingDir: inside.app,
  }
}

export const unitLabels = (
  { unitId, deploymentId, revisionId, artifactId, limits }: UnitSpec,
  homeId: string,
): Readonly<Record<string, string>> => ({
  [labels.home]: homeId,
  [labels.unit]: unitId,
  [labels.deployment]: deploymentId,
  [labels.revision]: revisionId,
  [labels.artifact]: artifactId,
  ...(limits.memoryMb !== undefined && { [labels.memoryMb]: String(limits.memoryMb) }),
})

export const bind = (from: string, to: string): string => `${from}:${to}`
export const readOnly = ({ from, to }: MountedFile): string => `${from}:${to}:ro`

export interface Confined {
  readonly image: string
  /** `container:<id>`: that of another container. */
  readonly network: string
  readonly user: OsUser
  readonly environment: Readonly<Record<string, string>>
  readonly labels: Readonly<Record<string, string>>
  readonly hosts: readonly string[]
  readonly binds: readonly string[]
  readonly limits: UnitSpec["limits"]
}

/** What all our containers have in common (M4). */
export function confined({ user, limits, ...it }: Confined) {
  const memory = limits.memoryMb === undefined ? undefined : limits.memoryMb * megabyte
  return {
    Image: it.image,
    User: `${user.uid}:${user.gid}`,
    Env: Object.entries(it.environment).map(([name, value]) => `${name}=${value}`),
    Labels: it.labels,
    HostConfig: {
      NetworkMode: it.network,
      ExtraHosts: it.hosts,
      Binds: it.binds,
      Tmpfs: { "/tmp": "rw,nosuid,nodev,size=256m" },
      // The planner restarts units, and counts how often.
      RestartPolicy: { Name: "no" },
      Init: true,
      ReadonlyRootfs: true,
      CapDrop: ["ALL"],
      SecurityOpt: ["no-new-privileges"],
      PidsLimit: mostProcesses,
      // No swap: a unit over its limit is killed.
      ...(memory !== undefined && { Memory: memory, MemorySwap: memory }),
      ...(limits.cpu !== undefined && { NanoCpus: Math.round(limits.cpu * 1e9) }),
      LogConfig: { Type: "json-file", Config: logOptions },
    },
  }
}

const certificateVariables = ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"]

/** The operator's certificates are files of this computer: a container gets them, and variables that lead to them. */
export function withCertificates(environment: NodeJS.ProcessEnv): {
  readonly environment: NodeJS.ProcessEnv
  readonly certificates: readonly MountedFile[]
} {
  const certificates = certificateVariables.flatMap((name) => {
    const from = environment[name]
    return from === undefined || from === "" ? [] : [{ name, from, to: `/superstep/certificates/${name}.pem` }]
  })
  const changed = Object.fromEntries(certificates.map(({ name, to }) => [name, to]))
  return { environment: { ...environment, ...changed }, certificates }
}

/** This computer, as a container calls it. */
const hostName = "host.docker.internal"
export const thisComputer = `${hostName}:host-gateway`

/**
 * The database as a container reaches it.
 * @returns  its address, and the folder of its socket if it has one
 */
export function databaseOf(uri: Secret, network: string): { uri: Secret; folder: string | undefined } {
  const url = new URL(uri.reveal())
  const host = url.searchParams.get("host")
  if (host?.startsWith("/")) return { uri, folder: host }
  if (network === "host" || !["localhost", "127.0.0.1", "[::1]"].includes(url.hostname))
    return { uri, folder: undefined }
  url.hostname = hostName
  return { uri: new Secret(url.href), folder: undefined }
}
