/** The image of a built project: base, runtime, packages, project. What changes most often comes last. */
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

// Added to a published artefact later (port.ts, R7), so a layer must not contain it.
const addedLater = ".superstep"

/**
 * @param project  the folder of the artefact
 * @param labels   of the image, for whoever lists images
 */
export async function projectImage(input: {
  readonly base: BaseImage
  readonly runtime: Runtime
  readonly project: string
  readonly labels: Readonly<Record<string, string>>
  readonly layout: Layout
}): Promise<Image> {
  const { base, runtime, project, labels, layout } = input
  return imageOf({ base, runtime, layers: await projectLayers(project, layout), labels })
}

/** The two layers of a project. @param project  the folder of the artefact */
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
}): Image {
  const { base, runtime, layers, labels } = input
  return appendLayers(base, [runtime.layer, ...layers], {
    Entrypoint: ["node", "--enable-source-maps", `/${places.runtime}/${runtime.entry}`],
    WorkingDir: `/${places.project}`,
    Labels: labels,
  })
}

/** Pure. */
export const isPackage = (path: string): boolean => path.split("/").some((name) => packageFolders.has(name))

/** Pure. */
export const isOwn = (path: string): boolean => !isPackage(path) && !path.split("/").includes(addedLater)
