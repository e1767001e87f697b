/**
 * A machine: it builds projects, keeps the artifacts, and runs units. The control plane knows no more about it than this. It calls
 * these functions again after a crash, so each is safe to repeat. What they return is what the machine has now, which is asked or
 * watched: what is not known is an error. A watched server that falls silent is noticed within 90 s; until then its last state
 * counts. A control plane that is killed loses nothing.
 *
 * R1 `start` twice is one unit, or one build. R2 what was started outlives the control plane, and is found again.
 * R3 a unit that has ended is reported as such, and may be started again under the same id and address.
 * R4 a unit's environment contains no secret of the platform, and no variable of ours but those of protocol/unit.
 * R5 `stop` and `remove` may be repeated, and leave nothing. R6 output is kept in order and outlives its process.
 * R7 an artifact never changes but for schemas that are added, and the same source built in the same way has the same id. R8 it is published whole or not at all.
 * R9 code of a unit has the user of the unit's server, and opens no inspector of it. R10 the control plane's user, which is not root, reaches a unit;
 * where the address is a socket, the user of another deployment does not.
 */
import type { BuiltLine } from "@superstep/builder/build-log"
import type { BuildCode } from "@superstep/builder/faults/build-failed"
import type { PlannedSource } from "@superstep/builder/plan-source"
import type { Address } from "@superstep/protocol/http/address"
import type { Secret, Secrets } from "@superstep/toolkit/config/settings"

export interface Machine {
  readonly units: Units
  readonly builds: Builds
  readonly artifacts: Artifacts
}

/** What is needed to start a unit, one running copy of a revision's agent server. */
export interface UnitSpec {
  readonly unitId: string
  readonly deploymentId: string
  /** The machine may keep deployments apart by it. */
  readonly deploymentNumber: number
  /** The deployment's name, for the titles of its processes. */
  readonly name: string
  readonly revisionId: string
  readonly artifactId: string
  /** As its build reported it; undefined for one of a former release. */
  readonly platform: string | undefined
  /** Path of `langgraph.json`, relative to the artifact. */
  readonly configPath: string
  /** Every request to the unit must carry it. */
  readonly token: Secret
  readonly databaseUri: Secret
  /** Most connections of its pool. */
  readonly poolSize: number
  /** The deployment's variables. They overlay those that `langgraph.json` sets. */
  readonly secrets: Secrets
  /** Determines the limit of JavaScript's heap. */
  readonly memoryMb: number | undefined
  /** Limits for all its processes together; undefined for none. Enforced as far as the machine allows. */
  readonly limits: { readonly memoryMb: number | undefined; readonly cpu: number | undefined }
}

export type UnitStatus =
  /** `isDisrupted`: somebody else is ending it, for example by a drain of its node. It ends: a machine does not take this back. */
  | { readonly state: "running"; readonly isDisrupted?: true }
  /** It was started and has exited, or was killed for exceeding its memory limit, in megabytes. `isDisrupted`: somebody else has ended it. */
  | { readonly state: "exited"; readonly ranOutOfMb?: number; readonly isDisrupted?: true }
  /** It was never started, or it was stopped. */
  | { readonly state: "absent" }

/** What a process of a unit, or its container, has used since it started. */
export interface Usage {
  /** No other has this key while it runs. */
  readonly key: string
  readonly cpuSeconds: number
  readonly rssBytes: number
}

export interface UnitLogs {
  /** Whole lines; of a unit that has ended also its last output without a line end. */
  readonly lines: readonly string[]
  /** Where the next read starts; as `from` when there was nothing new. Only the machine understands it. */
  readonly next: string
}

export interface Units {
  /**
   * Resolves when the unit runs, which is long before it is ready.
   * @throws TooManyDeployments
   */
  start(spec: UnitSpec): Promise<void>
  status(unitId: string): Promise<UnitStatus>
  /** Where the unit answers; the same after each restart. */
  address(unitId: string): Address
  /**
   * Reads the unit's output on. Costs little while there is nothing new. Any control plane may read on, also one that has nothing of what the
   * former one had on its disk.
   * @param from  "", or `next` of a read whose lines are stored: the machine may delete them
   */
  logs(unitId: string, from: string): Promise<UnitLogs>
  /**
   * Calls `onOutput` soon after the unit has printed; it may call too often.
   * @param onEnd  called when the watch is over before it is stopped, as at the end of a container: the unit's next life needs another one
   * @returns  a function that stops the watch; undefined when the output cannot be watched yet, or not on this machine
   */
  watchLogs(unitId: string, onOutput: () => void, onEnd?: () => void): Promise<(() => void) | undefined>
  /**
   * The memory of each unit's processes, in megabytes. Leaves out units that do not run or cannot be measured, and those whose
   * limit is enforced, since nothing else has to watch them.
   */
  memoryMb(unitIds: readonly string[]): Promise<ReadonlyMap<string, number>>
  /** What the processes of each unit that runs have used. A unit that cannot be measured has an empty list. */
  usage(unitIds: readonly string[]): Promise<ReadonlyMap<string, readonly Usage[]>>
  /** Kills all its processes at once, as a crash would: it is then `exited`. */
  kill(unitId: string): Promise<void>
  /** Stops it; what it has not finished after `graceMs` is cut. */
  stop(unitId: string, options: { readonly graceMs: number }): Promise<void>
  /** Deletes everything of a stopped unit. */
  remove(unitId: string): Promise<void>
  /** Every unit that has something here, running or not. */
  list(): Promise<string[]>
}

/** What is built: a fetched tree, and how. */
export interface BuildSource extends PlannedSource {
  /** A revision has one build, which is named by it. */
  readonly revisionId: string
  /** The machine may keep deployments apart by it. */
  readonly deploymentNumber: number
}

export interface PublishedArtifact {
  readonly artifactId: string
  /** What it runs on. An artifact is used again only where the machine still offers this. */
  readonly platform: string
  /** Ids of its graphs. */
  readonly graphs: readonly string[]
  readonly langgraphVersion: string | null
  /** Whether a graph does not provide its schemas at run time, so that they are to be read from its source. */
  readonly lacksSchemas: boolean
}

export type BuildState =
  | { readonly state: "absent" }
  | { readonly state: "running" }
  | { readonly state: "published"; readonly artifact: PublishedArtifact }
  /** The project's fault: the same source fails in the same way. */
  | { readonly state: "failed"; readonly code: BuildCode; readonly message: string }
  /** Ended without a result, or by a fault of the machine that may pass: start it again from a fresh tree. */
  | { readonly state: "ended"; readonly why: string }

export interface BuildLogs {
  readonly lines: readonly BuiltLine[]
  /** Where the next read starts. */
  readonly next: number
  /** Why the lines from there on cannot be read now; they may be later. */
  readonly unread?: string
}

export interface Builds {
  /**
   * Ends the former build of the revision and removes its tree.
   * @returns  where the tree is to be put: a path on this computer, of a folder that does not exist yet
   */
  prepare(revisionId: string): Promise<string>
  /** Whether the tree that was put there still does, as far as can be seen. */
  hasTree(revisionId: string): Promise<boolean>
  /**
   * @returns  the id of what the build would publish
   * @throws BuildFailed  for every fault that is found before a command runs
   */
  plan(source: BuildSource): Promise<string>
  /**
   * Starts the build in the background.
   * @param secrets  the deployment's variables, for the step that loads the graphs and for no other
   * @throws BuildFailed  as `plan`
   */
  start(source: BuildSource, secrets: Secrets): Promise<void>
  state(revisionId: string): Promise<BuildState>
  /** @param from  0, or `next` of the last read */
  logs(revisionId: string, from: number): Promise<BuildLogs>
  /**
   * Calls `onChange` soon after the build has written or ended; it may call too often.
   * @returns  a function that stops the watch; undefined when it cannot be watched
   */
  watch(revisionId: string, onChange: () => void): Promise<(() => void) | undefined>
  /** Makes it count as ended: without this, a build whose artifact is gone would be published. */
  forgetResult(revisionId: string): Promise<void>
  /** Stops builds, those of these revisions or all. They may be started again. */
  stop(revisionIds?: ReadonlySet<string>): Promise<void>
  /** Stops it, and deletes everything but what it has published. */
  remove(revisionId: string): Promise<void>
  /** The revisions that have a build here, running or not. */
  list(): Promise<string[]>
}

/** An image that somebody else built, of which nothing is known but that it answers `GET /ok` on `$PORT`. */
export interface ForeignImage {
  readonly deploymentId: string
  /** Its name in a registry, with a tag or a digest. */
  readonly reference: string
  /** Names of credentials that the operator has given to the machine. */
  readonly pullSecrets: readonly string[]
}

export interface AdoptedImage {
  /** Of its manifest or index: adopting it by this digest gives the same artifact. */
  readonly digest: string
  readonly artifact: PublishedArtifact
}

/** Whose schemas are read. */
export interface SchemaSource {
  readonly artifactId: string
  /** The machine may keep deployments apart by it. */
  readonly deploymentNumber: number
  /** Path of `langgraph.json`, relative to the artifact. */
  readonly configPath: string
}

export interface Artifacts {
  has(artifactId: string): Promise<boolean>
  /** The platforms for which a deployment's artifacts can run here. */
  platforms(deploymentNumber: number): Promise<readonly string[]>
  /**
   * Makes an image of a registry an artifact of a deployment. The registry is asked each time, so that nobody runs an image that it would not
   * give to him. May be repeated.
   * @throws ImageRefused  this machine runs no images, or the registry has no such image for these credentials
   */
  adoptImage(image: ForeignImage, signal: AbortSignal): Promise<AdoptedImage>
  /**
   * Reads the schemas of its graphs from their sources, without executing them, and stores them for its units, which notice. May be
   * repeated.
   * @throws  they cannot be read
   */
  readSchemas(artifact: SchemaSource, signal: AbortSignal): Promise<void>
  remove(artifactId: string): Promise<void>
  /** Those that no build is about to publish, or has published and not yet reported. */
  list(): Promise<string[]>
  /** The disk that these artifacts and the deployment's caches use, in megabytes. What several of them share counts once. */
  usedMb(deploymentId: string, artifactIds: readonly string[]): Promise<number>
  /** Deletes what builds of the deployment have kept to be faster. */
  removeCache(deploymentId: string): Promise<void>
  /** The deployments that have a cache. */
  caches(): Promise<string[]>
}
