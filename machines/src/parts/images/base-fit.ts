/** Whether what is built on this computer runs on a base image, by what a program in it tells. */

import type { PythonProgram } from "@superstep/builder/python/pythons"
import { packageManagers } from "@superstep/builder/tools"
import { KnownError } from "@superstep/toolkit/errors/errors"

/** Where something runs that was compiled. */
export interface System {
  /** Such as `v20.19.0`. */
  readonly node: string
  readonly arch: string
  /** Of the C library; undefined for one that is not glibc, such as Alpine's. */
  readonly glibc: string | undefined
}

export interface Inside extends System {
  /** Where its Node is. */
  readonly execPath: string
  /** Its variable PATH. */
  readonly path: string
  /** The package managers on that path. */
  readonly tools: readonly string[]
  /** Those of the Pythons that were asked for that are in the image, with the version there. */
  readonly pythons: readonly PythonProgram[]
}

/** Units cannot run on this image. */
export class BaseImageUnfit extends KnownError {
  readonly code = "base_image_unfit"
}

/** A program for `node -e` that prints an `Inside`. @param pythons  paths to look for */
export const probe = (pythons: readonly string[]): string => `
const { spawnSync } = require("node:child_process")
const versionOf = (path) => /^Python (\\d+\\.\\d+\\.\\d+)/.exec(spawnSync(path, ["--version"], { encoding: "utf8" }).stdout ?? "")?.[1]
const pythons = ${JSON.stringify(pythons)}.flatMap((path) => { const version = versionOf(path); return version ? [{ path, version }] : [] })
const { glibcVersionRuntime: glibc } = process.report.getReport().header
const { existsSync } = require("node:fs")
const { PATH: path = "" } = require("node:process").env
const tools = ${JSON.stringify(packageManagers)}.filter((name) => path.split(":").some((folder) => existsSync(folder + "/" + name)))
const { version: node, arch, execPath } = process
console.log(JSON.stringify({ node, arch, glibc, execPath, path, tools, pythons }))`

/**
 * Why packages that were compiled here do not run there; undefined when they do. A program runs with a C library as new as the one it was
 * built with, and with any Node of the same major version. Pure.
 */
export function unfitReason(here: System, there: System): string | undefined {
  if (there.arch !== here.arch) return `it is for ${there.arch}, and builds run on ${here.arch}`
  const major = (version: string) => version.split(".")[0]
  if (major(there.node) !== major(here.node)) return `it has Node ${there.node}, and builds run on ${here.node}`
  if (here.glibc === undefined) return there.glibc === undefined ? undefined : "it has glibc, and builds run without it"
  if (there.glibc === undefined) return "it has no glibc, and builds run with it"
  return isOlder(there.glibc, here.glibc) ? `it has glibc ${there.glibc}, and builds run with ${here.glibc}` : undefined
}

function isOlder(one: string, other: string): boolean {
  const [a = 0, b = 0] = one.split(".").map(Number)
  const [c = 0, d = 0] = other.split(".").map(Number)
  return a < c || (a === c && b < d)
}

export function thisSystem(): System {
  const { header } = process.report.getReport() as unknown as { header: { glibcVersionRuntime?: string } }
  return { node: process.version, arch: process.arch, glibc: header.glibcVersionRuntime }
}

/**
 * @returns  the Pythons of this computer that the image has in the same version, at the same place
 * @throws BaseImageUnfit  what is built here would not run in it
 */
export function requireFit(
  reference: string,
  there: Inside,
  pythons: readonly PythonProgram[],
): readonly PythonProgram[] {
  const why = unfitReason(thisSystem(), there)
  if (why !== undefined)
    throw new BaseImageUnfit(
      `packages that are built here do not run in the base image ${reference}: ${why}. Choose another one with SUPERSTEP_BASE_IMAGE`,
    )
  return pythons.filter(({ path, version }) => there.pythons.some((it) => it.path === path && it.version === version))
}
