/** Creates a project from a template: the folders below `examples/`, which the published package contains. */
import { existsSync } from "node:fs"
import { cp, mkdir, readdir, readFile, writeFile } from "node:fs/promises"
import { basename, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { howToCall } from "./how-to-call.js"

export class BadProjectName extends KnownError {
  readonly code = "bad_project_name"
}

export class FolderNotEmpty extends KnownError {
  readonly code = "folder_not_empty"
}

/**
 * A valid npm package name, without a scope. The last part of the path is the name.
 * @throws BadProjectName
 */
function projectName(path: string): string {
  const name = basename(resolve(path))
  if (/^[a-z0-9][a-z0-9._-]{0,63}$/.test(name)) return name
  throw new BadProjectName(
    `"${name}" is not a valid project name: use up to 64 of a-z, 0-9, dot, dash and underscore, starting with a letter or digit`,
  )
}

/** npm leaves some dotfiles out of a package, so the package contains them under another name. */
const carried = "dot-"

/** In the published package `templates` is beside `programs`; in the repository the examples themselves are used. */
function templateFolder(name: string): string {
  const places = [`../templates/${name}`, `../../examples/${name}`]
  const folders = places.map((place) => fileURLToPath(new URL(place, import.meta.resolve("superstep/main"))))
  const found = folders.find((folder) => existsSync(join(folder, "langgraph.json")))
  if (!found) throw new Error(`the template ${name} is missing from this installation`)
  return found
}

// Files that running an example creates in its folder.
const leftovers = new Set([
  ...["node_modules", ".superstep", "dist", ".langgraph_api", ".env"],
  ...[".venv", "__pycache__"],
])

/** Copies a template without generated files. `target` must be missing or empty. */
export async function copyTemplate(name: string, target: string): Promise<void> {
  const source = templateFolder(name)
  await mkdir(target, { recursive: true })
  for (const entry of await readdir(source)) {
    if (leftovers.has(entry)) continue
    const to = entry.startsWith(carried) ? `.${entry.slice(carried.length)}` : entry
    await cp(join(source, entry), join(target, to), { recursive: true })
  }
}

/**
 * Creates the folder of a new project.
 * @param release  the version of this program, for the commands that the project's README shows
 * @returns        its absolute path and name
 * @throws BadProjectName, FolderNotEmpty
 */
export async function createProject(
  path: string,
  template: string,
  release: string,
): Promise<{ folder: string; name: string }> {
  const name = projectName(path)
  const folder = resolve(path)
  if (existsSync(folder) && (await readdir(folder)).length > 0) {
    throw new FolderNotEmpty(`${folder} is not empty: choose another name, or empty it first`)
  }
  await copyTemplate(template, folder)
  const call = howToCall(folder, process.argv[1] ?? "", release)
  await nameProject(folder, name, call)
  await writeReadme(folder, name, call)
  await ignoreGenerated(folder)
  return { folder, name }
}

async function nameProject(folder: string, name: string, call: string): Promise<void> {
  const file = join(folder, "package.json")
  // A project in Python has none.
  if (!existsSync(file)) return
  // The licence and the description are those of the example, not of the new project.
  const {
    license: _,
    description: __,
    scripts: given,
    ...manifest
  } = JSON.parse(await readFile(file, "utf8")) as Record<string, unknown>
  // A command and no dependency: a deployment would install the packages of a server that it never starts.
  const scripts = { dev: `${call} dev`, ...(given as object) }
  await writeFile(file, `${JSON.stringify({ ...manifest, name, scripts, ...buildSettings }, null, 2)}\n`)
  await nameLockFile(folder, name)
}

/** npm copies name and licence of the project into its lock file, and would change them at the first installation. */
async function nameLockFile(folder: string, name: string): Promise<void> {
  const file = join(folder, "package-lock.json")
  const lock = JSON.parse(await readFile(file, "utf8")) as { packages: Record<string, Record<string, unknown>> }
  const { license: _, ...project } = lock.packages[""] ?? {}
  const packages = { ...lock.packages, "": { ...project, name } }
  await writeFile(file, `${JSON.stringify({ ...lock, name, packages }, null, 2)}\n`)
}

/** How the examples are started in this repository (`examples/<name>/README.md`). */
export const callInExamples = "node ../../cli/bin/superstep.mjs"

/** The example's page, under the project's name and with the command that starts it where it is. */
async function writeReadme(folder: string, name: string, call: string): Promise<void> {
  const file = join(folder, "README.md")
  const text = await readFile(file, "utf8")
  await writeFile(file, text.replace(/^# .*$/m, `# ${name}`).replaceAll(callInExamples, call))
}

/** Builds of a new project fail when its types are wrong. */
const buildSettings = { superstep: { typecheck: true } }

/** Secrets and data must not be committed. */
async function ignoreGenerated(folder: string): Promise<void> {
  const file = join(folder, ".gitignore")
  if (!existsSync(file)) await writeFile(file, "node_modules/\n.superstep/\n.env\n")
}
