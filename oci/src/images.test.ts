import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { linkSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Readable } from "node:stream"
import test from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { list } from "tar"
import { imageArchive } from "./archive.js"
import { readExportedImage, UnusableArchive } from "./exported-image.js"
import { layoutIn } from "./layout.js"
import { builtProject, smallImage } from "./testing/project.js"
import { UnusableTree } from "./tree-entries.js"

const listed = async (file: string) => {
  const entries: { path: string; mode: number | undefined; owner: string; mtime: number | undefined }[] = []
  await list({
    file,
    onReadEntry: ({ path, mode, uid, gid, mtime }) => {
      entries.push({ path, mode, owner: `${uid}:${gid}`, mtime: mtime?.getTime() })
    },
  })
  return entries
}

test("the same project gives the same digests, in whatever order and with whatever rights its files were created", async () => {
  const project = builtProject()
  const first = await smallImage(project)
  const second = await smallImage(builtProject({ isReversed: true }))
  const changed = await smallImage(builtProject({ code: "export const graph = 2\n" }))
  mkdirSync(join(project, ".superstep"))
  writeFileSync(join(project, ".superstep/schemas.json"), "{}")
  const withSchemas = await smallImage(project)
  linkSync(join(project, "node_modules/a/index.js"), join(temporaryFolder(), "kept"))
  const linked = await smallImage(project)

  assert.deepEqual(first.image.layers, second.image.layers)
  for (const [what, { image }] of Object.entries({ second, withSchemas, linked }))
    assert.equal(image.manifestDescriptor.digest, first.image.manifestDescriptor.digest, what)
  assert.deepEqual(changed.image.layers.slice(0, -1), first.image.layers.slice(0, -1), "the code is the last layer")
  assert.notEqual(changed.image.layers.at(-1)?.diffId, first.image.layers.at(-1)?.diffId)
})

test("a layer has its entries in order, without times and owners, and folders before their content", async () => {
  const { image, layout } = await smallImage(builtProject())
  const [, , packages, own] = image.layers
  assert.ok(packages && own)

  const entries = await listed(layout.pathOf(packages.blob.digest))

  const paths = entries.map(({ path }) => path)
  assert.deepEqual(paths.slice(0, 6), [
    "superstep/",
    "superstep/app/",
    "superstep/app/agent/",
    "superstep/app/agent/node_modules/",
    "superstep/app/agent/node_modules/c.js",
    "superstep/app/node_modules/",
  ])
  assert.ok(paths.indexOf("superstep/app/node_modules/B/") < paths.indexOf("superstep/app/node_modules/a/"))
  assert.ok(paths.some((path) => path.endsWith("/ünï.js")))
  assert.deepEqual(new Set(entries.map(({ owner, mtime }) => `${owner} ${mtime}`)), new Set(["0:0 0"]))
  const code = (await listed(layout.pathOf(own.blob.digest))).find(({ path }) => path === "superstep/app/chat.mjs")
  assert.equal(code?.mode, 0o755)
})

test("other programs read a layer: GNU tar extracts files, links and long names", async () => {
  const { image, layout } = await smallImage(builtProject())
  const folder = temporaryFolder()

  for (const { blob } of image.layers) {
    const { status, stderr } = spawnSync("tar", ["-xf", layout.pathOf(blob.digest), "-C", folder], { encoding: "utf8" })
    assert.equal(status, 0, stderr)
  }

  assert.equal(readFileSync(join(folder, "superstep/app/node_modules/B/link.js"), "utf8"), "a")
  assert.equal(readFileSync(join(folder, `superstep/app/node_modules/${"deep/".repeat(30)}ünï.js`), "utf8"), "long")
  assert.equal(readFileSync(join(folder, "superstep/app/big.bin"), "utf8").length, 2 * 1024 * 1024 + 1)
})

test("a project with something that is no file is refused by its name", async () => {
  const project = builtProject()
  assert.equal(spawnSync("mkfifo", [join(project, "pipe")]).status, 0)

  await assert.rejects(smallImage(project), (error) => error instanceof UnusableTree && /pipe/.test(error.message))
})

test("an archive for an engine is read back as the same image, and may leave out what the engine has", async () => {
  const { image, layout } = await smallImage(builtProject())
  const reference = "superstep/test:abc"
  const whole = Readable.from(imageArchive({ image, layout, reference }))
  const other = layoutIn(temporaryFolder())

  const read = await readExportedImage(whole, other)

  assert.deepEqual(read.layers, image.layers)
  assert.deepEqual(read.config, JSON.parse(image.config.toString()))
  const [base] = image.layers
  const thin = imageArchive({ image, layout, reference }, new Set([base?.blob.digest ?? ""]))
  await assert.rejects(readExportedImage(Readable.from(thin), layoutIn(temporaryFolder())), UnusableArchive)
})

/** An exported image as an engine gives it, with a layer `one.tar` and a link. @param target  of `link.tar` */
function exported(target: string, ...Layers: string[]) {
  const folder = temporaryFolder()
  writeFileSync(join(folder, "manifest.json"), JSON.stringify([{ Config: "config.json", Layers }]))
  const diff_ids = Layers.map(() => "sha256:a")
  writeFileSync(join(folder, "config.json"), JSON.stringify({ rootfs: { diff_ids } }))
  writeFileSync(join(folder, "one.tar"), "a layer")
  symlinkSync(target, join(folder, "link.tar"))
  return Readable.from([spawnSync("tar", ["-c", "-C", folder, "."], { maxBuffer: 1024 * 1024 }).stdout])
}

test("an exported image may have the same layer twice, under one name or under a link to it", async () => {
  const layout = layoutIn(temporaryFolder())

  const { layers } = await readExportedImage(exported("one.tar", "one.tar", "one.tar", "link.tar"), layout)

  assert.equal(layers.length, 3)
  for (const { blob } of layers) assert.equal(readFileSync(layout.pathOf(blob.digest), "utf8"), "a layer")
})

test("an exported image whose layers lead out of the archive is refused", async () => {
  const leaving = exported("/etc/passwd", "link.tar")

  await assert.rejects(readExportedImage(leaving, layoutIn(temporaryFolder())), UnusableArchive)
})

test("a layout names its image, and every blob has the digest of its content", async () => {
  const { image, layout } = await smallImage(builtProject())

  await layout.name(image, "images.example.com/team/agent:v1")

  const index = JSON.parse(readFileSync(join(layout.folder, "index.json"), "utf8"))
  assert.equal(index.manifests[0].digest, image.manifestDescriptor.digest)
  assert.equal(index.manifests[0].annotations["org.opencontainers.image.ref.name"], "v1")
  for (const blob of [image.manifestDescriptor, image.configDescriptor, ...image.layers.map(({ blob }) => blob)]) {
    const { stdout } = spawnSync("sha256sum", [layout.pathOf(blob.digest)], { encoding: "utf8" })
    assert.equal(`sha256:${stdout.slice(0, 64)}`, blob.digest)
    assert.ok(await layout.has(blob))
  }
})
