/** Loads every graph once, as the agent server will: a missing export is told now and not after the switch. */
import { randomUUID } from "node:crypto"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { Secret } from "@superstep/toolkit/config/settings"
import { settingsFileVariable, writeSettingsFile } from "@superstep/toolkit/config/settings-file"
import type { BuildInput } from "./build-input.js"
import type { BuildRequest } from "./build-request.js"
import { BuildFailed } from "./failure.js"
import { runStep } from "./run-step.js"
import { codeFor, missingVariables, wordsFor } from "./step-words.js"
import { readVerification, type Verification } from "./verification.js"

/** @throws BuildFailed  `graph_load_failed`, `secret_missing`, `build_oom`, `build_too_big` */
export async function verify({ request, agentEnv, ...input }: BuildInput): Promise<Verification> {
  const { writeLine, signal, onStart, confinement, room } = input
  const resultFile = join(request.home, "verify.json")
  const { verifyMs } = request.limits
  const env = { ...request.environment, [settingsFileVariable]: await writeVariables(request, agentEnv) }
  const configFile = join(request.tree, request.configPath)
  const verifying = [request.node.path, request.verifyEntry, configFile, resultFile] as const
  const argv = [process.execPath, withVariables, ...verifying] as const
  const limits = { limitMs: verifyMs, silenceMs: verifyMs }
  const command = { argv, cwd: dirname(configFile), env, user: request.user, ...limits, onStart, confinement, room }
  const end = await runStep(command, writeLine, signal)
  const loaded = await readVerification(resultFile)
  if (loaded && loaded.failed.length > 0)
    throw loadFailed(loaded, { given: Object.keys({ ...agentEnv, ...env }), writeLine })
  if (loaded && end.kind === "exited" && end.code === 0) return loaded
  const isTime = end.kind === "timed out" || end.kind === "silent"
  const code = isTime ? "graph_load_failed" : codeFor(end, "graph_load_failed")
  throw new BuildFailed(code, `loading the graphs ${wordsFor(end, limits)}`)
}

const withVariables = fileURLToPath(new URL("./variables-main.js", import.meta.url))

/** What a build itself sets wins. @returns the file, which only the step's user may read */
async function writeVariables(
  { home, environment, user }: BuildRequest,
  agentEnv: Readonly<Record<string, string>>,
): Promise<string> {
  const own = Object.entries(agentEnv).filter(([name]) => environment[name] === undefined)
  // The step's user may have put something at any name that it can guess.
  const file = join(home, `${randomUUID()}.json`)
  const secrets = Object.fromEntries(own.map(([name, value]) => [name, new Secret(value)]))
  await writeSettingsFile(file, secrets, user ?? undefined)
  return file
}

function loadFailed(
  { failed }: Verification,
  { given, writeLine }: { given: readonly string[] } & Pick<BuildInput, "writeLine">,
): BuildFailed {
  for (const { graph_id, message, code_frame } of failed) {
    writeLine(`graph "${graph_id}" does not load: ${message}`, "ERROR")
    for (const line of code_frame?.split("\n") ?? []) writeLine(line, "ERROR")
  }
  const words = failed.map(({ graph_id, message }) => `graph "${graph_id}" does not load: ${message}`).join("; ")
  const missing = missingVariables(failed.map(({ message }) => message).join("\n"), given)
  if (missing.length === 0) return new BuildFailed("graph_load_failed", words)
  return new BuildFailed("secret_missing", `${words} (the deployment has no ${missing.join(", ")})`)
}
