/**
 * The build process: install, build, verify, prune, publish. It runs in a session of its own, so it outlives the
 * control plane that started it; `protocol/build` describes the files by which they communicate.
 */
import { takeSettingsFile } from "@superstep/toolkit/config/settings-file"
import { identifyNewChild } from "@superstep/toolkit/exec/process-identity"
import { readJson, writeJson } from "@superstep/toolkit/files/json-file"
import { takeLock } from "@superstep/toolkit/files/process-lock"
import { hideSecrets } from "@superstep/toolkit/text/hide-secrets"
import { build, failedResult } from "./build.js"
import { buildLog } from "./build-log.js"
import { agentEnvVariable, buildFiles, parseRequest } from "./build-request.js"

const folder = process.argv[2] ?? ""
const files = buildFiles(folder)
const stopping = new AbortController()
process.once("SIGTERM", () => stopping.abort())

// One build per folder: a control plane that died right after starting this one starts a second, which exits here.
if (!(await takeLock(files.identity))) await main()

async function main(): Promise<void> {
  const found = await readJson(files.request)
  if (!found) throw new Error(`${files.request} is missing`)
  const agentEnv = JSON.parse(takeSettingsFile(process.env)[agentEnvVariable] ?? "{}") as Record<string, string>
  const hide = hideSecrets(Object.values(agentEnv))
  const writeLine = buildLog(files.log, hide)
  // Writes in order, so that the file names the step that runs now.
  let noted = Promise.resolve()
  const onStart = (pid: number) => {
    const note = async () => writeJson(files.step, await identifyNewChild(pid))
    noted = noted
      .then(note)
      .catch((error: unknown) => writeLine(`the current step could not be recorded: ${error}`, "WARNING"))
  }
  const { signal } = stopping
  const run = async () => build({ request: parseRequest(found), agentEnv, writeLine, onStart, signal })
  const result = await run().catch((error: unknown) => {
    // The process that stopped the build knows that it did. Without a result the build counts as not done, and may be restarted.
    return signal.aborted ? undefined : failedResult(error, hide, writeLine)
  })
  if (result) await writeJson(files.result, result)
}
