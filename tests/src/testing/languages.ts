/** Suites that run once for each language of the graphs, from one source. */
import { fileURLToPath } from "node:url"
import { unlessWide } from "@superstep/toolkit/testing/wide-tests"

export type LanguageName = "JavaScript" | "Python"

export interface Language {
  readonly name: LanguageName
  /** The environment of a server with the language's equal of the project. */
  readonly env: Readonly<Record<string, string>>
  /** Why its tests cannot run here, or false. */
  readonly skip: string | false
}

/** The Python that has `langgraph` and the other packages of `.ci/run`; empty where there is none. */
export const testPython = process.env.SUPERSTEP_TEST_PYTHON ?? ""

export const withoutPython =
  testPython === "" && "no Python with langgraph: .ci/run installs it and sets SUPERSTEP_TEST_PYTHON"

/** Languages of the agent that tests deploy (`createRepository`). The packages of Python come from its registry. */
export const agentLanguages: readonly Pick<Language, "name" | "skip">[] = [
  { name: "JavaScript", skip: false },
  { name: "Python", skip: unlessWide("installs packages of PyPI") || withoutPython },
]

const root = new URL("../../../", import.meta.url)

/** @param configs  the `langgraph.json` of each language's project, from the root of the repository */
export const languagesOf = (configs: Readonly<Record<LanguageName, string>>): readonly [Language, Language] => {
  const configOf = (name: LanguageName) => fileURLToPath(new URL(configs[name], root))
  return [
    { name: "JavaScript", env: { SUPERSTEP_CONFIG: configOf("JavaScript") }, skip: false },
    {
      name: "Python",
      env: { SUPERSTEP_CONFIG: configOf("Python"), SUPERSTEP_PYTHON: testPython },
      skip: withoutPython,
    },
  ]
}

/** The graphs of `tests/graphs` and their twins. */
export const graphLanguages = languagesOf({
  JavaScript: "tests/graphs/quick.json",
  Python: "workers/python/testing/twins/langgraph.json",
})
