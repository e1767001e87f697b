/** Decides with which Python a project is built and run. Pure. */
import { BuildFailed } from "../faults/build-failed.js"
import type { PythonProgram } from "./pythons.js"

// The oldest version that the worker runs on (workers/python).
const oldestMinor = 10

/**
 * @param wanted  `python_version` of langgraph.json, such as `3.12`; undefined for the newest
 * @throws BuildFailed  `python_unsupported`
 */
export function choosePython(wanted: string | undefined, found: readonly PythonProgram[]): PythonProgram {
  const usable = found
    .filter(({ version }) => minorOf(version) >= oldestMinor)
    .toSorted((a, b) => minorOf(b.version) - minorOf(a.version))
  const chosen = wanted === undefined ? usable[0] : usable.find(({ version }) => fits(wanted, version))
  if (chosen) return chosen
  const there = usable.length === 0 ? "none" : usable.map(({ version }) => version).join(", ")
  const words =
    wanted === undefined ? `its graphs need Python 3.${oldestMinor} or newer` : `"python_version" is ${wanted}`
  throw new BuildFailed("python_unsupported", `${words}, and this machine has ${there} that its deployments may start`)
}

const minorOf = (version: string): number => {
  const [major, minor] = version.split(".").map(Number)
  return major === 3 ? (minor ?? 0) : 0
}

const fits = (wanted: string, version: string): boolean => version === wanted || version.startsWith(`${wanted}.`)
