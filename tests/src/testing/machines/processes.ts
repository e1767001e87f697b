/** Agents as processes of this computer. */
import { existsSync } from "node:fs"
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { ifCode } from "@superstep/toolkit/errors/if-code"
import type { MachineOfLocalPlatform, RunningUnit } from "./port.js"

export function processesOfTests(home: string): MachineOfLocalPlatform {
  const folder = join(home, "units")
  const find = async (unitId: string): Promise<readonly RunningUnit[]> => {
    // A unit that is stopped has no such file.
    const text = await readFile(join(folder, unitId, "pid.json"), "utf8").catch(ifCode(["ENOENT"]))
    const pid = text === undefined ? undefined : (JSON.parse(text) as { pid: number }).pid
    return pid !== undefined && existsSync(`/proc/${pid}`) ? [{ unitId, life: String(pid) }] : []
  }
  return {
    env: {},
    running: async () => (await Promise.all((await readdir(folder)).map(find))).flat(),
    present: () => readdir(folder),
    kill: async ({ life }) => void process.kill(Number(life), "SIGKILL"),
    // The test runner looks for processes.
    leftovers: async () => [],
  }
}
