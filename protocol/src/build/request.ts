/**
 * What the control plane and a build send to each other; `build/README.md` describes it.
 * Generated from `protocol/build/request.schema.json` by `npm run generate -w protocol`; a test compares them.
 */

export type Path =
  | string

/** One of the builder's error codes, or `internal`. */
export type ErrorCode =
  | string

/** For people; the reader cuts it. */
export type Message =
  | string

export type Name =
  | string

export type Amount =
  | number

/** As long as the system lets an argument or a variable be. */
export type Argument =
  | string

export interface BuildStep {
  /** Its word in the log. `install` has the time limit of installs, every other one that of build commands. */
  readonly name: Name
  /** No shell reads it. */
  readonly argv: readonly Argument[]
  /** The command for the log, where a script around it would only confuse; by default `argv`. */
  readonly shown?: Message
  /** Relative to the root of the tree; empty for the root. */
  readonly folder: Path
  /** The same manifests and lock file always produce the same packages, and nothing else. */
  readonly isRepeatable: boolean
  /** The error code of the revision when the step does not exit with 0. */
  readonly failure: ErrorCode
}

export interface BuildPlan {
  readonly steps: readonly BuildStep[]
}

export interface BuildLimits {
  readonly installMs: Amount
  readonly buildMs: Amount
  /** A step that prints nothing for this long counts as stuck. */
  readonly silenceMs: Amount
  readonly verifyMs: Amount
  /** Limit for all processes of a step together. */
  readonly memoryMb: Amount
  /** Limit for the tree, its installed packages, and the build's caches. */
  readonly diskMb: Amount
}

export interface NodeProgram {
  readonly path: Path
  /** Such as `v24.21.0`. */
  readonly version: string
}

export interface OsUser {
  readonly uid: number
  readonly gid: number
}

export interface BuildRequest {
  /** The fetched tree, which becomes the artifact. */
  readonly tree: Path
  /** Path of `langgraph.json`, relative to the tree. */
  readonly configPath: Path
  /** Where the tree is moved at the end, by rename. */
  readonly artifactFolder: Path
  /** Where the project will be when it runs, if that is another place. */
  readonly runsAt?: Path
  /** A folder for this build alone: `HOME` and temporary files. */
  readonly home: Path
  /** The caches of package managers, kept for the next builds of the deployment. */
  readonly packageCache: Path
  /** Packages of former installs, in a place where no command of a build may write; absent where none are kept. */
  readonly keptPackages?: Path
  /** Compiled packages depend on it. */
  readonly platform: Name
  readonly plan: BuildPlan
  /** Sentences for the log. */
  readonly notes: readonly Message[]
  /** The Node that the project is built for and will run on. */
  readonly node: NodeProgram
  /** Of the commands. */
  readonly environment: Readonly<Record<string, Argument>>
  readonly limits: BuildLimits
  /** The program that loads every graph of a project and reports which fail. */
  readonly verifyEntry: Path
  /** The same for graphs in Python. */
  readonly verifyPython?: Path
  /** Who runs the commands; null where all run as our own user. */
  readonly user: OsUser | null
  /** Who reads the artifact; null where all run as our own user. */
  readonly reader: OsUser | null
}

/** Where the container `push` of a Job sends the result. */
export interface Sending {
  readonly host: Name
  readonly repository: Name
  readonly homeId: Name
  readonly artifactId: Name
  readonly configPath: Path
}

export interface PublishedBuild {
  readonly outcome: "published"
  /** A project has a thousand at most. */
  readonly graphs: readonly Name[]
  readonly langgraph_version: Name | null
  /** Whether schemas are to be read from the sources of the graphs, since they do not provide them at run time. */
  readonly lacks_schemas: boolean
}

/** The termination message of a Job's container. */
export interface BuildFailure {
  readonly error_code: ErrorCode
  readonly message: Message
}

export interface FailedBuild {
  readonly outcome: "failed"
  readonly error_code: ErrorCode
  readonly message: Message
}
