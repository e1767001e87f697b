/**
 * What the control plane and a build process tell each other, as files of the build's folder: `request.json` on the
 * way in, with a `secrets.json` that the build removes as it begins; `pid.json`, `step.json` (who runs the current command), `build.log` and, at the end and by rename,
 * `result.json` on the way out. So either side may die and find the other again.
 */
import { join } from "node:path"
import type { OsUser } from "@superstep/toolkit/exec/spawn-detached"
import type { ErrorCode } from "../revisions/revision.js"
import type { NodeProgram } from "./choose-node.js"
import type { BuildPlan } from "./plan.js"

export interface BuildLimits {
  readonly installMs: number
  readonly buildMs: number
  /** A step that prints nothing for so long is stuck. */
  readonly silenceMs: number
  readonly verifyMs: number
  /** Of all processes of a step together. */
  readonly memoryMb: number
  /** Of the tree, what is installed in it, and what the build keeps beside it. */
  readonly diskMb: number
}

export interface BuildRequest {
  /** The fetched tree; it becomes the artefact. */
  readonly tree: string
  /** Of `langgraph.json`, relative to the tree. */
  readonly configPath: string
  /** Where the tree ends up, by rename. */
  readonly artifactFolder: string
  /** A folder for this build alone: `HOME` and temporary files. */
  readonly home: string
  /** What package managers keep from build to build of the deployment. */
  readonly packageCache: string
  /** What its installs made (`kept-packages.ts`), where no command of a build may write. */
  readonly keptPackages: string
  /** What compiled packages depend on. */
  readonly platform: string
  readonly plan: BuildPlan
  /** Sentences for the log. */
  readonly notes: readonly string[]
  /** What the project is built for, and what will run it. */
  readonly node: NodeProgram
  readonly environment: Readonly<Record<string, string>>
  readonly limits: BuildLimits
  /** The program that loads every graph of a project and says which fail. */
  readonly verifyEntry: string
  /** Who runs the commands, and who reads the artefact; null where all run as we do. */
  readonly user: OsUser | null
  readonly reader: OsUser | null
}

export type BuildResult =
  | { readonly outcome: "published"; readonly graphs: readonly string[]; readonly langgraph_version: string | null }
  | { readonly outcome: "failed"; readonly error_code: ErrorCode; readonly message: string }

export interface BuildLogLine {
  readonly at: string
  readonly level: "INFO" | "WARNING" | "ERROR"
  readonly message: string
}

/**
 * The setting that brings the deployment's own variables to the verify step, and to no other. It is in the file
 * `secrets`, not in the environment: there one variable holds at most 128 KiB, and secrets together may be more.
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
