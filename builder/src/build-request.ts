/**
 * The files of a build's folder by which control plane and build process communicate, so that either may die and find the
 * other again. In: `request.json`, and `secrets.json`, which the build removes when it starts. Out: `pid.json`, `step.json`
 * (the process of the current command), `build.log` and, at the end and by rename, `result.json`.
 */
import { join } from "node:path"
import type { OsUser } from "@superstep/toolkit/exec/spawn-detached"
import type { NodeProgram } from "./choose-node.js"
import type { BuildCode } from "./faults/build-failed.js"
import type { BuildPlan, BuildStep } from "./project/build-step.js"

export interface BuildLimits {
  readonly installMs: number
  readonly buildMs: number
  /** A step that prints nothing for this long counts as stuck. */
  readonly silenceMs: number
  readonly verifyMs: number
  /** Limit for all processes of a step together. */
  readonly memoryMb: number
  /** Limit for the tree, its installed packages, and the build's caches. */
  readonly diskMb: number
}

/** How long a step may take. */
export const stepLimitMs = ({ name }: Pick<BuildStep, "name">, { installMs, buildMs }: BuildLimits): number =>
  name === "install" ? installMs : buildMs

export interface BuildRequest {
  /** The fetched tree, which becomes the artifact. */
  readonly tree: string
  /** Path of `langgraph.json`, relative to the tree. */
  readonly configPath: string
  /** Where the tree is moved at the end, by rename. */
  readonly artifactFolder: string
  /** Where the project will be when it runs, if that is another place. */
  readonly runsAt?: string
  /** A folder for this build alone: `HOME` and temporary files. */
  readonly home: string
  /** The caches of package managers, kept for the next builds of the deployment. */
  readonly packageCache: string
  /** Packages of former installs (`kept-packages.ts`), in a place where no command of a build may write; undefined where none are kept. */
  readonly keptPackages?: string
  /** Compiled packages depend on it. */
  readonly platform: string
  readonly plan: BuildPlan
  /** Sentences for the log. */
  readonly notes: readonly string[]
  /** The Node that the project is built for and will run on. */
  readonly node: NodeProgram
  readonly environment: Readonly<Record<string, string>>
  readonly limits: BuildLimits
  /** The program that loads every graph of a project and reports which fail. */
  readonly verifyEntry: string
  /** The same for graphs in Python. A request of a former release has none, and no graphs in Python. */
  readonly verifyPython?: string
  /** The users who run the commands and who read the artifact; null where all run as our own user. */
  readonly user: OsUser | null
  readonly reader: OsUser | null
}

export type BuildResult =
  | {
      readonly outcome: "published"
      readonly graphs: readonly string[]
      readonly langgraph_version: string | null
      /** Whether schemas are to be read from the sources of the graphs, since they do not provide them at run time. */
      readonly lacks_schemas: boolean
    }
  | FailedBuild

export interface FailedBuild {
  readonly outcome: "failed"
  readonly error_code: BuildCode
  readonly message: string
}

export const buildLevels = ["INFO", "WARNING", "ERROR"] as const

export interface BuildLogLine {
  readonly at: string
  readonly level: (typeof buildLevels)[number]
  readonly message: string
}

/**
 * The setting that carries the deployment's own variables to the verify step, and to no other. It is in the file
 * `secrets`, not in the environment, where one variable holds at most 128 KiB: secrets together may be larger.
 */
export const agentEnvVariable = "SUPERSTEP_AGENT_ENV"

export const buildFiles = (folder: string) => ({
  request: join(folder, "request.json"),
  secrets: join(folder, "secrets.json"),
  identity: join(folder, "pid.json"),
  step: join(folder, "step.json"),
  log: join(folder, "build.log"),
  result: join(folder, "result.json"),
})
