/** The project with access rules and an app in each language, for tests that both must pass. */
import { spawnSync } from "node:child_process"
import { languagesOf, testPython } from "./languages.js"

const hasFastApi = testPython !== "" && spawnSync(testPython, ["-c", "import fastapi, langgraph"]).status === 0
const noFastApi = "no Python with langgraph and fastapi: .ci/run installs them and sets SUPERSTEP_TEST_PYTHON"

/** `folder` is below `tests`, `ending` that of its source files, and `envOf` the environment of a server with one of its configurations. */
export const languages = languagesOf({ JavaScript: "tests/guarded", Python: "tests/guarded-python" }).map(
  ({ name, env: { SUPERSTEP_CONFIG: project, ...env } }) => {
    const own =
      name === "JavaScript"
        ? ({ folder: "guarded", ending: "ts", skip: false } as const)
        : ({ folder: "guarded-python", ending: "py", skip: !hasFastApi && noFastApi } as const)
    return { name, ...own, envOf: (file: string) => ({ ...env, SUPERSTEP_CONFIG: `${project}/${file}` }) }
  },
)
