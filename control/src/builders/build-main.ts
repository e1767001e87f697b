/**
 * The build process: install, build, verify, prune, publish. It runs in a session of its own, so it outlives the
 * control plane that started it; `build-request.ts` says how the two speak.
 */
import { takeSettingsFile } from "@superstep/toolkit/config/settings-file"
import { identifyNewChild } from "@superstep/toolkit/exec/process-identity"
import { readJson, writeJson } from "../files/json-file.js"
import { takeLock } from "../files/process-lock.js"
import { hideSecrets } from "../logs/hide-secrets.js"
import { build } from "./build.js"
import { buildLog, type WriteLine } from "./build-log.js"
import { agentEnvVariable, type BuildRequest, type BuildResult, buildFiles } from "./build-request.js"
import { BuildFailed } from "./failure.js"

const folder = process.argv[2] ?? ""
const files = buildFiles(folder)
const stopping = new AbortController()
process.once("SIGTERM", () => stopping.abort())

// One build a folder: a control plane that died right after it started us starts a second one, which ends here.
if (!(await takeLock(files.identity))) await main()

async function main(): Promise<void> {
  const request = await readJson<BuildRequest>(files.request)
  if (!request) throw new Error(`there is no ${files.request}`)
  const agentEnv = JSON.parse(takeSettingsFile(process.env)[agentEnvVariable] ?? "{}") as Record<string, string>
  const hide = hideSecrets(Object.values(agentEnv))
  const writeLine = buildLog(files.log, hide)
  // One after the other, so that the file names the step that runs now.
  let noted = Promise.resolve()
  const onStart = (pid: number) => {
    const note = async () => writeJson(files.step, await identifyNewChild(pid))
    noted = noted.then(note).catch((error: unknown) => writeLine(`the step could not be noted: ${error}`, "WARNING"))
  }
  const { signal } = stopping
  const result = await build({ request, agentEnv, writeLine, onStart, signal }).catch((error: unknown) => {
    // Whoever told us to stop knows: without a result the build counts as never done, and may begin anew.
    return signal.aborted ? undefined : failedResult(error, hide, writeLine)
  })
  if (result) await writeJson(files.result, result)
}

function failedResult(error: unknown, hide: (text: string) => string, writeLine: WriteLine): BuildResult {
  const message = hide(error instanceof Error ? error.message : String(error))
  writeLine(message, "ERROR")
  const code = error instanceof BuildFailed ? error.code : "internal"
  return { outcome: "failed", error_code: code, message }
}
