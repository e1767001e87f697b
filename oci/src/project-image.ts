/** The image of a built project: base, runtime, packages, project. What changes most often comes last. */
import { ownNodeOptions } from "@superstep/toolkit/exec/own-program"
import { appendLayers, type BaseImage, type Image, type Layer } from "./image.js"
import type { Layout } from "./layout.js"

/** Where things are in an image. The project's folder is the unit's working folder. */
export const places = { runtime: "superstep/runtime", project: "superstep/app" } as const

/** Our server and workers, which all projects of an installation share. */
export interface Runtime {
  readonly layer: Layer
  /** The agent server's main file, relative to `places.runtime`. */
  readonly entry: string
}

// The packages of JavaScript and Python, wherever they are in a project.
const packageFolders = new Set(["node_modules", ".venv"])

// Added to a published artifact later (port.ts, R7), so a layer must not contain it.
const addedLater = ".superstep"

/**
 * @param project     the folder of the artifact
 * @param configPath  of `langgraph.json` in it, for an image that runs without a control plane
 * @param labels      of the image, for programs that list images
 */
export async function projectImage(input: {
  readonly base: BaseImage
  readonly runtime: Runtime
  readonly project: string
  readonly configPath?: string
  readonly labels: Readonly<Record<string, string>>
  readonly layout: Layout
}): Promise<Image> {
  const { base, runtime, project, configPath, labels, layout } = input
  return imageOf({ base, runtime, layers: await projectLayers(project, layout), labels, configPath })
}

/** The two layers of a project. @param project  the folder of the artifact */
export async function projectLayers(project: string, layout: Layout): Promise<readonly Layer[]> {
  const layers: Layer[] = []
  for (const has of [isPackage, isOwn]) layers.push(await layout.addLayer([{ from: project, to: places.project, has }]))
  return layers
}

/** Pure. @param input.layers  of the project */
export function imageOf(input: {
  readonly base: BaseImage
  readonly runtime: Runtime
  readonly layers: readonly Layer[]
  readonly labels: Readonly<Record<string, string>>
  readonly configPath?: string | undefined
}): Image {
  const { base, runtime, layers, labels, configPath } = input
  return appendLayers(base, [runtime.layer, ...layers], {
    ...starting(runtime.entry),
    ...(configPath !== undefined && {
      Env: [...(base.config.config?.Env ?? []), `SUPERSTEP_CONFIG=/${places.project}/${configPath}`],
    }),
    WorkingDir: `/${places.project}`,
    Labels: labels,
  })
}

/** An image without a project, for a program of the runtime. @param entry  relative to `places.runtime` */
export const runtimeImage = (input: {
  readonly base: BaseImage
  readonly runtime: Runtime
  readonly entry: string
  readonly labels: Readonly<Record<string, string>>
}): Image => appendLayers(input.base, [input.runtime.layer], { ...starting(input.entry), Labels: input.labels })

const starting = (entry: string) => ({
  Entrypoint: ["node", ...ownNodeOptions, `/${places.runtime}/${entry}`],
})

/** Pure. */
export const isPackage = (path: string): boolean => path.split("/").some((name) => packageFolders.has(name))

/** Pure. */
export const isOwn = (path: string): boolean => !isPackage(path) && !path.split("/").includes(addedLater)
