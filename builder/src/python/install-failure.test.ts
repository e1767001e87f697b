/** Installations that fail, by real installers and a package index on this machine. */
import assert from "node:assert/strict"
import { existsSync } from "node:fs"
import { dirname, join } from "node:path"
import { test } from "node:test"
import { build } from "../testing/build.js"
import { installFailure } from "./install-failure.js"
import { planPython } from "./plan-python.js"
import { startPackageIndex } from "./testing/package-index.js"

const python = process.env.SUPERSTEP_TEST_PYTHON ?? ""
const skip =
  !existsSync(join(dirname(python), "uv")) && "no Python with uv: .ci/run installs it and sets SUPERSTEP_TEST_PYTHON"

const failing: readonly {
  readonly what: string
  readonly requirements: readonly string[]
  readonly index?: string
  readonly words: RegExp
  /** In the log. */
  readonly shown: RegExp
}[] = [
  {
    what: "requirements that exclude each other",
    requirements: ["alpha==1.0", "beta==1.0"],
    words: /failed with exit code 1: the requirements exclude each other$/,
    shown: /common==[12]\.0/,
  },
  {
    what: "a package for another Python",
    requirements: ["future"],
    words: /: a package needs another version of Python: see python_version of langgraph\.json$/,
    shown: /Python ?>=3\.99/,
  },
  {
    what: "a package whose wheel cannot be built",
    requirements: ["broken"],
    words:
      /: (broken(==1\.0)?|a package) has no wheel for this machine, and building one failed: install what its build/,
    shown: /there is no compiler/,
  },
  {
    what: "a package that does not exist",
    requirements: ["superstep-never-published"],
    words: /: the package index has no superstep-never-published, or shows it only with credentials$/,
    shown: /superstep-never-published/,
  },
  {
    what: "an index that refuses the access",
    requirements: ["alpha"],
    index: "private",
    words: /: the package index refused the access \(401\): give its credentials with UV_INDEX or PIP_INDEX_URL/,
    shown: /alpha/,
  },
]

test("an installation by uv that fails says why, in a sentence and with the log", { skip }, async (t) => {
  await using index = await startPackageIndex(python)
  const install = async (requirements: readonly string[], path: string) => {
    const dependencies = requirements.map((text) => ({ kind: "requirement" as const, text }))
    const facts = { dependencies, lockFolder: undefined, isPackage: false }
    const uv = { needsLock: false, uvRoot: undefined, uvPackage: undefined }
    const config = {
      version: undefined,
      dependencies: requirements,
      installer: "uv",
      pipConfigFile: undefined,
      ...uv,
    } as const
    const steps = planPython({ config, facts, program: python, folder: "" }, { hasUv: true, hasPackages: true })
    // No other source of packages that this machine may have.
    const env = ["env", "-u", "UV_FIND_LINKS", "-u", "UV_INDEX", `UV_DEFAULT_INDEX=${index.url}/${path}/`] as const
    const argvOf = (argv: readonly string[]) =>
      [...env, `PATH=${dirname(python)}:${process.env.PATH}`, ...argv] as const
    const { result, log } = await build(
      {},
      steps.map((step) => ({ ...step, argv: argvOf(step.argv) })),
    )
    assert.ok(result.outcome === "failed", log)
    return { code: result.error_code, message: result.message, log }
  }

  for (const { what, requirements, index: path = "simple", words, shown } of failing)
    await t.test(what, async () => {
      const { code, message, log } = await install(requirements, path)

      assert.equal(code, "install_failed")
      assert.match(message, words)
      assert.match(log, shown)
    })
})

const otherVersion = `ERROR: Ignored the following versions that require a different python version: 1.0 Requires-Python >=3.99
ERROR: Could not find a version that satisfies the requirement future (from versions: none)
ERROR: No matching distribution found for future`

for (const [said, expected] of [
  [
    "ERROR: Cannot install alpha==1.0 and beta==1.0 because these package versions have conflicting dependencies.",
    /^the requirements exclude each other$/,
  ],
  [otherVersion, /^a package needs another version of Python/],
  ["ERROR: Failed building wheel for broken\nFailed to build broken", /^broken has no wheel/],
  ["error: metadata-generation-failed\n\n× Encountered error", /^a package has no wheel/],
  ["ERROR: 403 Client Error: Forbidden for url: http://a/simple/b/", /refused the access \(403\)/],
  [
    "ERROR: No matching distribution found for nothing\n",
    /^the package index has no nothing, or shows it only with credentials$/,
  ],
  ["error: No space left on device (os error 28)", /^undefined$/],
] as const)
  test(`what pip says is understood, too: ${said.split("\n")[0]}`, () =>
    assert.match(String(installFailure(said.split("\n"))), expected))
