/** A small built project and a base image, for tests of images. */
import { chmodSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import type { BaseImage } from "../image.js"
import { type Layout, layoutIn } from "../layout.js"
import { projectImage } from "../project-image.js"

const longName = `${"deep/".repeat(30)}ünï.js`

const files: Readonly<Record<string, string>> = {
  "langgraph.json": "{}",
  "chat.mjs": "export const graph = 1\n",
  "node_modules/a/index.js": "a",
  "node_modules/B/index.js": "b",
  [`node_modules/${longName}`]: "long",
  "agent/node_modules/c.js": "c",
  "big.bin": "x".repeat(2 * 1024 * 1024 + 1),
}

/** @param isReversed  whether its files are created in the other order, with other times and rights */
export function builtProject({ isReversed = false, ...changes }: { isReversed?: boolean; code?: string } = {}): string {
  const folder = temporaryFolder()
  const all = Object.entries({ ...files, ...(changes.code !== undefined && { "chat.mjs": changes.code }) })
  for (const [path, content] of isReversed ? all.toReversed() : all) {
    const file = join(folder, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, content, { mode: isReversed ? 0o640 : 0o644 })
    utimesSync(file, isReversed ? 1 : 1000, isReversed ? 1 : 1000)
  }
  chmodSync(join(folder, "chat.mjs"), isReversed ? 0o750 : 0o755)
  symlinkSync("../a/index.js", join(folder, "node_modules/B/link.js"))
  return folder
}

/** A base with one layer, which is in the layout. */
export async function smallBase(layout: Layout): Promise<BaseImage> {
  const folder = temporaryFolder()
  writeFileSync(join(folder, "os-release"), "ID=test\n")
  const layer = await layout.addLayer([{ from: folder, to: "etc" }])
  const config = { Env: ["PATH=/usr/bin:/bin"] }
  return {
    config: { architecture: "amd64", os: "linux", config, rootfs: { type: "layers", diff_ids: [layer.diffId] } },
    layers: [layer],
  }
}

export async function smallImage(project: string, layout: Layout = layoutIn(temporaryFolder())) {
  const runtime = temporaryFolder()
  writeFileSync(join(runtime, "main.js"), "")
  const image = await projectImage({
    base: await smallBase(layout),
    runtime: { layer: await layout.addLayer([{ from: runtime, to: "superstep/runtime" }]), entry: "main.js" },
    project,
    labels: { test: "1" },
    layout,
  })
  return { image, layout }
}
