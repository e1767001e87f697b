/** Writes the lock file of a project in Python as its authors do: with uv. */
import { execFileSync } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { testPython } from "./languages.js"

let environment: string | undefined

/** @param folder  has a `pyproject.toml`; gets `uv.lock` */
export function lockWithUv(folder: string): void {
  environment ??= withUv()
  execFileSync(join(environment, "bin/uv"), ["lock", "--quiet", "--python", testPython], {
    cwd: folder,
    stdio: "inherit",
  })
  if (!existsSync(join(folder, "uv.lock"))) throw new Error(`uv wrote no lock file into ${folder}`)
}

function withUv(): string {
  const home = temporaryFolder()
  execFileSync(testPython, ["-m", "venv", home])
  const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "uv==0.9.11"]
  execFileSync(join(home, "bin/python"), pip, { stdio: "inherit" })
  return home
}

/** A `pyproject.toml` with these dependencies. */
export const pyproject = (dependencies: readonly string[]): string => `[project]
name = "agent"
version = "0.1.0"
requires-python = ">=3.10"
dependencies = ${JSON.stringify(dependencies)}
`
