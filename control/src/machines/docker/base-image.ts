/** The image that units run on top of: fetched if the engine lacks it, and refused if what is built here would not run in it. */
import { join } from "node:path"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { readJson, writeJson } from "../../files/json-file.js"
import { readExportedImage } from "../images/exported-image.js"
import type { BaseImage } from "../images/image.js"
import type { Layout } from "../images/layout.js"
import type { PythonProgram } from "../process/builds/python/pythons.js"
import { bytesOf, type Engine, EngineFailed, imageSilenceMs, untilDone } from "./engine.js"
import { piecesOf } from "./unit-output.js"

/** Where something runs that was compiled. */
export interface System {
  /** Such as `v20.19.0`. */
  readonly node: string
  readonly arch: string
  /** Of the C library; undefined for one that is not glibc, such as Alpine's. */
  readonly glibc: string | undefined
}

export interface Inside extends System {
  /** The Pythons of this computer that are in the image too, with the version there. */
  readonly pythons: readonly PythonProgram[]
}

/** Units cannot run on this image. */
export class BaseImageUnfit extends KnownError {
  readonly code = "base_image_unfit"
}

interface InspectedImage {
  readonly Id: string
  readonly Config?: {
    readonly Labels?: Readonly<Record<string, string>> | null
    readonly Env?: readonly string[] | null
  }
}

export const inspectImage = async (engine: Engine, reference: string): Promise<InspectedImage | undefined> => {
  const { status, body } = await engine.json<InspectedImage>(`/images/${reference}/json`, { also: [404] })
  return status === 404 ? undefined : body
}

/** @throws EngineFailed  the engine has no such image, and cannot fetch it */
export async function requireImage(engine: Engine, reference: string): Promise<InspectedImage> {
  const present = await inspectImage(engine, reference)
  if (present) return present
  try {
    const query = { fromImage: withTag(reference) }
    await untilDone(await engine.stream("/images/create", { method: "POST", query, silenceMs: imageSilenceMs }))
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    const remedy = "set SUPERSTEP_BASE_IMAGE to an image that the engine has, or may fetch"
    throw new EngineFailed(`the engine cannot fetch the base image ${reference} (${why}): ${remedy}`, undefined, {
      cause,
    })
  }
  const fetched = await inspectImage(engine, reference)
  if (!fetched) throw new EngineFailed(`the engine has fetched ${reference}, and does not have it under that name`)
  return fetched
}

/** Without a tag an engine would fetch all of them. Pure. */
export const withTag = (reference: string): string => (/[:@][^/]+$/.test(reference) ? reference : `${reference}:latest`)

const probe = (pythons: readonly string[]): string => `
const { spawnSync } = require("node:child_process")
const versionOf = (path) => /^Python (\\d+\\.\\d+\\.\\d+)/.exec(spawnSync(path, ["--version"], { encoding: "utf8" }).stdout ?? "")?.[1]
const pythons = ${JSON.stringify(pythons)}.flatMap((path) => { const version = versionOf(path); return version ? [{ path, version }] : [] })
const { glibcVersionRuntime: glibc } = process.report.getReport().header
console.log(JSON.stringify({ node: process.version, arch: process.arch, glibc, pythons }))`

/**
 * Looks into an image, by a container without a network.
 * @param pythons  paths to look for
 * @throws BaseImageUnfit  it has no Node
 */
export async function lookInside(engine: Engine, reference: string, pythons: readonly string[]): Promise<Inside> {
  const created = await engine.json<{ Id: string }>("/containers/create", {
    method: "POST",
    body: {
      Image: reference,
      Entrypoint: ["node"],
      Cmd: ["-e", probe(pythons)],
      Labels: { "superstep.probe": "1" },
      HostConfig: { NetworkMode: "none", ReadonlyRootfs: true, CapDrop: ["ALL"] },
    },
  })
  const path = `/containers/${created.body.Id}`
  try {
    await engine.json(`${path}/start`, { method: "POST" })
    await engine.json(`${path}/wait`, { method: "POST" })
    const query = { stdout: "1", stderr: "1", timestamps: "1" }
    const output = piecesOf(await bytesOf(await engine.stream(`${path}/logs`, { query })))
    return JSON.parse(Buffer.concat(output.map(({ content }) => content)).toString()) as Inside
  } catch (cause) {
    throw new BaseImageUnfit(
      `the base image ${reference} does not start "node": choose one with Node, such as node:20-bookworm-slim`,
      {
        cause,
      },
    )
  } finally {
    await engine.json(path, { method: "DELETE", query: { force: "1", v: "1" }, also: [404, 409] })
  }
}

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

interface StoredBase {
  readonly imageId: string
  readonly base: BaseImage
}

/** The image with its layers in the layout, exported once. */
export async function exportBase(engine: Engine, { Id }: InspectedImage, layout: Layout): Promise<BaseImage> {
  const note = join(layout.folder, "base.json")
  const stored = await readJson<StoredBase>(note)
  const isWhole = async ({ base }: StoredBase) =>
    (await Promise.all(base.layers.map(({ blob }) => layout.has(blob)))).every((has) => has)
  if (stored?.imageId === Id && (await isWhole(stored))) return stored.base
  const base = await readExportedImage(await engine.stream(`/images/${Id}/get`, { silenceMs: imageSilenceMs }), layout)
  await writeJson(note, { imageId: Id, base } satisfies StoredBase)
  return base
}
