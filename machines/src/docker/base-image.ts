/** The image that units run on top of: fetched if the engine lacks it, and refused if what is built here would not run in it. */
import { join } from "node:path"
import { readExportedImage } from "@superstep/oci/exported-image"
import type { BaseImage } from "@superstep/oci/image"
import type { Layout } from "@superstep/oci/layout"
import { readJson, writeJson } from "@superstep/toolkit/files/json-file"
import { BaseImageUnfit, type Inside, probe } from "../parts/images/base-fit.js"
import { type Engine, EngineFailed, imageSilenceMs, untilDone } from "./engine.js"
import { printed } from "./unit-output.js"

interface InspectedImage {
  readonly Id: string
  readonly Os: string
  readonly Architecture: string
  readonly Config?: {
    readonly Labels?: Readonly<Record<string, string>> | null
    readonly Env?: readonly string[] | null
    readonly Cmd?: readonly string[] | null
    readonly Entrypoint?: readonly string[] | null
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

const probeLabel = "superstep.probe"

/**
 * Removes the containers of programs that were killed while they looked into an image.
 * @param until  only those that were made before it, so that a look that another installation is taking goes on: an age, or a Unix time
 */
export async function removeLeftProbes(engine: Engine, until = "10m"): Promise<void> {
  const filters = JSON.stringify({ label: [probeLabel], until: [until] })
  await engine.json("/containers/prune", { method: "POST", query: { filters } })
}

/**
 * Looks into an image, by a container without a network.
 * @param pythons  paths to look for
 * @throws BaseImageUnfit  it has no Node that starts
 * @throws EngineFailed    the engine could not look, as on a full disk
 */
export async function lookInside(engine: Engine, reference: string, pythons: readonly string[]): Promise<Inside> {
  await removeLeftProbes(engine)
  const created = await engine.json<{ Id: string }>("/containers/create", {
    method: "POST",
    body: {
      Image: reference,
      Entrypoint: ["node"],
      Cmd: ["-e", probe(pythons)],
      Labels: { [probeLabel]: "1" },
      HostConfig: { NetworkMode: "none", ReadonlyRootfs: true, CapDrop: ["ALL"] },
    },
  })
  const path = `/containers/${created.body.Id}`
  try {
    await engine.json(`${path}/start`, { method: "POST" })
    await engine.json(`${path}/wait`, { method: "POST" })
    const query = { stdout: "1", stderr: "1", timestamps: "1" }
    return JSON.parse(await printed(await engine.stream(`${path}/logs`, { query }))) as Inside
  } catch (cause) {
    if (cause instanceof EngineFailed && !saysNoProgram(cause)) throw cause
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

/** Whether an engine that refuses to start a container means that its image has no such program. Docker answers 400 then. Pure. */
const saysNoProgram = ({ status, message }: EngineFailed): boolean =>
  status === 400 || /executable file .*not found/i.test(message)

interface StoredBase {
  readonly imageId: string
  readonly base: BaseImage
}

const noteIn = ({ folder }: Layout): string => join(folder, "base.json")

/** Removes what former programs left in the layout: files of a killed one, and layers of other bases, releases and projects. Call it before any use. */
export async function removeFormerLayers(layout: Layout): Promise<void> {
  const stored = await readJson<StoredBase>(noteIn(layout))
  await layout.keepOnly(stored?.base.layers.map(({ blob }) => blob) ?? [])
}

/** The image with its layers in the layout, exported once. */
export async function exportBase(engine: Engine, { Id }: InspectedImage, layout: Layout): Promise<BaseImage> {
  const note = noteIn(layout)
  const stored = await readJson<StoredBase>(note)
  const isWhole = async ({ base }: StoredBase) =>
    (await Promise.all(base.layers.map(({ blob }) => layout.has(blob)))).every((has) => has)
  if (stored?.imageId === Id && (await isWhole(stored))) return stored.base
  const base = await readExportedImage(await engine.stream(`/images/${Id}/get`, { silenceMs: imageSilenceMs }), layout)
  await writeJson(note, { imageId: Id, base } satisfies StoredBase)
  return base
}
