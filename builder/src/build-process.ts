/** The control plane's side of a build: starts it once, finds it again after a restart, stops it. */

import { mkdir, rm } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { Secret } from "@superstep/toolkit/config/settings"
import { settingsFileVariable, writeSettingsFile } from "@superstep/toolkit/config/settings-file"
import { ownNodeOptions } from "@superstep/toolkit/exec/own-program"
import { isAlive, type ProcessIdentity } from "@superstep/toolkit/exec/process-identity"
import { spawnDetached } from "@superstep/toolkit/exec/spawn-detached"
import { stopProcess } from "@superstep/toolkit/exec/stop-process"
import { readJson, writeJson } from "@superstep/toolkit/files/json-file"
import {
  agentEnvVariable,
  type BuildRequest,
  type BuildResult,
  buildFiles,
  checkedRequest,
  parseResult,
} from "./build-request.js"

export type BuildState =
  | { readonly state: "absent" }
  | { readonly state: "running" }
  | { readonly state: "finished"; readonly result: BuildResult }
  /** It was killed, or the machine went down: start it again from a fresh tree. */
  | { readonly state: "vanished" }

const buildEntry = fileURLToPath(import.meta.resolve("@superstep/builder/build-main"))

/**
 * Starts a build in a folder of its own.
 * @param agentEnv  the deployment's variables; until the process has read them they are on disk, readable only by us
 * @throws InvalidBuildMessage  the request does not fit the schema
 */
export async function startBuild(
  folder: string,
  request: BuildRequest,
  agentEnv: Readonly<Record<string, string>>,
): Promise<void> {
  const checked = checkedRequest(request)
  // Processes of a killed build may still run, in the tree that this one starts from.
  await stopBuild(folder)
  await mkdir(folder, { recursive: true, mode: 0o755 })
  await rm(buildFiles(folder).result, { force: true })
  await writeJson(buildFiles(folder).request, checked)
  const { secrets } = buildFiles(folder)
  await writeSettingsFile(secrets, { [agentEnvVariable]: new Secret(JSON.stringify(agentEnv)) })
  const identity = await spawnDetached({
    argv: [process.execPath, ...ownNodeOptions, buildEntry, folder],
    cwd: folder,
    env: {
      PATH: request.environment.PATH ?? "",
      LANG: "C.UTF-8",
      HOME: request.home,
      [settingsFileVariable]: secrets,
    },
    outputFile: `${folder}/process.log`,
  })
  // The build writes its identity itself; wait for it, so that `buildState` returns "running" from now on.
  await untilNamed(folder, identity)
}

async function untilNamed(folder: string, started: ProcessIdentity): Promise<void> {
  while ((await readJson(buildFiles(folder).identity)) === undefined) {
    if (!(await isAlive(started))) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** @throws InvalidBuildMessage  its result does not fit the schema */
export async function buildState(folder: string): Promise<BuildState> {
  const files = buildFiles(folder)
  const identity = await readJson<ProcessIdentity>(files.identity)
  // Checked before the result is read: a build that ends in between has written it.
  const isRunning = identity !== undefined && (await isAlive(identity))
  const result = await readJson(files.result)
  if (result !== undefined) return { state: "finished", result: parseResult(result) }
  if (isRunning) return { state: "running" }
  return (await readJson(files.request)) === undefined ? { state: "absent" } : { state: "vanished" }
}

// A build that gets the stop signal kills its step at once.
const stopGraceMs = 5000

/** Stops a build and everything it started. Does nothing when there is none. */
export async function stopBuild(folder: string): Promise<void> {
  const { identity, step, secrets } = buildFiles(folder)
  for (const file of [identity, step]) {
    const process = await readJson<ProcessIdentity>(file)
    if (process) await stopProcess(process, { graceMs: stopGraceMs, group: true })
  }
  await rm(secrets, { force: true })
}
