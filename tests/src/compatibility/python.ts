/** The Python client, called by a script of its own. */
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"
import { runCommand } from "@superstep/toolkit/exec/run-command"
import type { AgentServerProcess } from "../testing/agent-servers.js"
import type { Called } from "./calls.js"

const script = fileURLToPath(new URL("../../compatibility/call_all.py", import.meta.url))
const python = process.env.SUPERSTEP_TEST_PYTHON ?? ""

export const skip = python === "" && "no Python with langgraph-sdk: .ci/run installs it and sets SUPERSTEP_TEST_PYTHON"

/** Calls every method of one form of the client; `uncalled` are those that the script forgot. */
export async function callPython({ url, headers }: AgentServerProcess, form: "async" | "sync") {
  const argv = [python, script, url, JSON.stringify(headers), form] as const
  const { stdout } = await runCommand({ argv, cwd: dirname(script), env: {}, timeoutMs: 240_000 })
  return JSON.parse(stdout) as { called: Called[]; uncalled: string[] }
}
