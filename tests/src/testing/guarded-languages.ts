/** The project with access rules and an app in each language, for tests that both must pass. */
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"

export interface GuardedLanguage {
  readonly name: "JavaScript" | "Python"
  /** The folder below `tests`. */
  readonly folder: string
  /** The ending of its source files. */
  readonly ending: "ts" | "py"
  /** Why its tests cannot run, or false. */
  readonly skip: string | false
  /** The environment of a server with one of its configurations. */
  envOf(file: string): Record<string, string>
}

const python = process.env.SUPERSTEP_TEST_PYTHON ?? ""
const hasFastApi = python !== "" && spawnSync(python, ["-c", "import fastapi, langgraph"]).status === 0

const configOf = (folder: string, file: string) => fileURLToPath(new URL(`../../${folder}/${file}`, import.meta.url))

export const languages: readonly GuardedLanguage[] = [
  {
    name: "JavaScript",
    folder: "guarded",
    ending: "ts",
    skip: false,
    envOf: (file) => ({ SUPERSTEP_CONFIG: configOf("guarded", file) }),
  },
  {
    name: "Python",
    folder: "guarded-python",
    ending: "py",
    skip: !hasFastApi && "no Python with langgraph and fastapi: .ci/run installs them and sets SUPERSTEP_TEST_PYTHON",
    envOf: (file) => ({ SUPERSTEP_CONFIG: configOf("guarded-python", file), SUPERSTEP_PYTHON: python }),
  },
]
