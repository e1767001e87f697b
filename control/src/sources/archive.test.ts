import assert from "node:assert/strict"
import { readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import test from "node:test"
import { gzipSync } from "node:zlib"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { archiveSource } from "./archive.js"
import { SourceFailed } from "./port.js"
import { longName, type TarEntry, tar, tarGz, uploaded } from "./testing/tar-gz.js"

const { signal } = new AbortController()
const source = archiveSource()
const project: TarEntry[] = [
  { path: "langgraph.json", content: "{}" },
  { path: "src/", type: "5", mode: 0o755 },
  { path: "src/graph.mjs", content: "export {}" },
  { path: "bin/run.sh", content: "#!/bin/sh\n", mode: 0o755 },
]

/** Unpacks into a folder with a neighbour, so that files outside the folder are noticed. */
async function unpack(bytes: Buffer, unpacker = source) {
  const parent = temporaryFolder()
  const location = uploaded(bytes)
  const fetched = unpacker.fetch(location, `sha256:${location.sha256}`, join(parent, "tree"), signal)
  return { parent, tree: join(parent, "tree"), fetched }
}

const filesOf = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort()

/** Asserts the code, the message, and that nothing was written outside the unfinished tree. */
async function assertRefused(bytes: Buffer, code: string, words: RegExp, unpacker = source): Promise<void> {
  const { parent, fetched } = await unpack(bytes, unpacker)
  await assert.rejects(fetched, (error) => {
    assert.ok(error instanceof SourceFailed, String(error))
    assert.equal(error.code, code)
    assert.match(error.message, words)
    assert.equal(error.isTransient, false)
    return true
  })
  assert.deepEqual(readdirSync(parent), [])
}

test("an archive is unpacked to its regular and executable files only, also with files packed twice, as from the Python CLI", async () => {
  const { tree, fetched } = await unpack(tarGz(project))

  const { commit, notes } = await fetched

  assert.deepEqual(filesOf(tree), ["bin/run.sh", "langgraph.json", "src/graph.mjs"])
  assert.equal(readFileSync(join(tree, "src/graph.mjs"), "utf8"), "export {}")
  assert.equal(statSync(join(tree, "bin/run.sh")).mode & 0o111, 0o111)
  assert.equal(statSync(join(tree, "langgraph.json")).mode & 0o111, 0)
  assert.deepEqual([commit, notes], [undefined, []])

  const twice = await unpack(tarGz([...project, ...project]))

  await twice.fetched

  assert.equal(filesOf(twice.tree).length, 3)
})

test("the tree's hash depends on names, content and the executable bit, not on the packing", async () => {
  const hashOf = async (entries: TarEntry[]) => (await (await unpack(tarGz(entries))).fetched).treeHash
  const changed = project.map((entry) => (entry.path === "src/graph.mjs" ? { ...entry, content: "export { }" } : entry))

  const first = await hashOf(project)

  assert.equal(await hashOf(project.toReversed().map((entry) => ({ ...entry, path: `./${entry.path}` }))), first)
  assert.notEqual(await hashOf(changed), first)
  assert.notEqual(await hashOf(project.map((entry) => ({ ...entry, mode: 0o755 }))), first)
})

test("names in every language are unpacked, however long and wherever a chunk ends", async () => {
  const names = Array.from({ length: 400 }, (_, n) => `文書/${"é".repeat(n % 50)}${"ü深い".repeat(12)}-${n}.md`)
  const { tree, fetched } = await unpack(tarGz(names.flatMap((name) => longName(name, { content: name }))))

  await fetched

  assert.deepEqual(filesOf(tree), [...names].sort())
})

test(".env files are left out in every folder; examples of them are not", async () => {
  const secrets = [".env", "apps/agent/.env", ".env.production"].map((path) => ({ path, content: "KEY=in-clear" }))
  const { tree, fetched } = await unpack(tarGz([...project, ...secrets, { path: ".env.example", content: "KEY=" }]))

  const { notes } = await fetched

  assert.deepEqual(
    filesOf(tree).filter((name) => name.includes(".env")),
    [".env.example"],
  )
  assert.deepEqual(
    notes,
    secrets.map(({ path }) => `left out of the build: ${path}`),
  )
})

const file = (path: string | Buffer): TarEntry => ({ path, content: "x" })
const refused: Readonly<Record<string, readonly [TarEntry[], RegExp]>> = {
  "an absolute path": [[file("/outside/of-the-tree")], /absolute path/],
  "an absolute path in a long name": [longName("/outside/of-the-tree"), /absolute path/],
  "a drive": [[file("C:/outside")], /absolute path/],
  "a path that leads out": [[file("../outside")], /leads out/],
  "a path that leads out on the way": [[file("src/../../outside")], /leads out/],
  "a folder that leads out": [[{ path: "../tree2/", type: "5" }], /leads out/],
  "a backslash": [[file("..\\outside")], /backslash/],
  "a symbolic link": [[{ path: "link", type: "2", linkTo: "/etc" }, file("link/passwd")], /symbolic link/],
  "a hard link": [[{ path: "link", type: "1", linkTo: "/etc/passwd" }], /hard link/],
  "a character device": [[{ path: "null", type: "3" }], /device/],
  "a block device": [[{ path: "disk", type: "4" }], /device/],
  "a pipe": [[{ path: "pipe", type: "6" }], /pipe/],
  "an unknown kind of entry": [[{ path: "what", type: "Z", content: "x" }], /not supported|Z/],
  "a program that runs as its owner": [[{ ...file("su"), mode: 0o4755 }], /setuid/],
  "a program that runs as its group": [[{ ...file("su"), mode: 0o2755 }], /setuid/],
  "a name that is not UTF-8": [[file(Buffer.from([0x61, 0xff, 0xfe]))], /not UTF-8/],
  "a line end in a name": [[file("a\nb")], /control characters/],
  "two names that differ in case": [[file("README.md"), file("readme.md")], /same name/],
  "two folders that differ in case": [[file("src/a"), file("SRC/b")], /same name/],
  "two forms of one letter": [[file("caf\u00e9"), file("cafe\u0301")], /same name/],
  "one name with two contents": [[file("a"), { path: "a", content: "y" }], /twice/],
  "one name with two rights": [[file("a"), { ...file("a"), mode: 0o755 }], /twice/],
  "a file that is also a folder": [[file("a"), file("a/b")], /both a file and a folder/],
  "a folder that is also a file": [[file("a/b"), file("a")], /both a file and a folder/],
  "a name that is too long": [longName(`${"a".repeat(256)}`, { content: "x" }), /too long/],
  "a header of another header's size": [
    [{ path: "x", type: "x", content: `${"9 a=b\n".repeat(200_000)}` }, file("a")],
    /not supported|cannot be used/,
  ],
}
for (const [what, [entries, words]] of Object.entries(refused)) {
  test(`an archive with ${what} is refused, and nothing is written outside its tree`, async () => {
    await assertRefused(tarGz([...project, ...entries]), "archive_invalid", words)
  })
}

test("an incomplete or invalid .tar.gz is refused", async () => {
  const whole = tarGz([...project, { path: "big", content: Buffer.alloc(300_000, "abc") }])
  const cases: [Buffer, RegExp][] = [
    [Buffer.alloc(0), /cannot be used/],
    [Buffer.from("not an archive"), /not a complete \.tar\.gz/],
    [tar(project), /not a complete \.tar\.gz/],
    [whole.subarray(0, whole.length / 2), /not a complete \.tar\.gz/],
    [gzipSync(tar(project).subarray(0, 700)), /cannot be used/],
    [gzipSync(Buffer.alloc(4096, "a")), /cannot be used/],
    [gzipSync(tarGz(project)), /compressed twice/],
  ]
  for (const [bytes, words] of cases) await assertRefused(bytes, "archive_invalid", words)
})

test("an archive that differs from the uploaded one is refused, and a deleted one causes an error that says so", async () => {
  const location = uploaded(tarGz(project))
  const other = { ...location, sha256: "0".repeat(64) }

  const fetching = source.fetch(other, `sha256:${other.sha256}`, join(temporaryFolder(), "tree"), signal)

  await assert.rejects(fetching, /differs from the uploaded one/)

  const whole = uploaded(tarGz(project))
  const cut = {
    ...whole,
    read: async function* () {
      for await (const piece of whole.read()) {
        yield piece.subarray(0, 50)
        return
      }
    },
  }

  const unpacking = source.fetch(cut, `sha256:${cut.sha256}`, join(temporaryFolder(), "tree"), signal)

  await assert.rejects(unpacking, (error) => error instanceof SourceFailed && error.code === "source_not_found")
})

test("a decompression bomb is stopped while it is unpacked: by size, ratio or number", async () => {
  const small = { entries: 100, bytes: 2_000_000, ratio: 20, freeBytes: 100_000 }
  const zeros = (bytes: number): TarEntry => ({ path: "zeros", content: Buffer.alloc(bytes) })
  const many = Array.from({ length: 101 }, (_, n) => ({ path: `f${n}` }))
  const behindTheEnd = gzipSync(Buffer.concat([tar(project), Buffer.alloc(1_000_000)]))

  await assertRefused(tarGz([zeros(1_000_000)]), "archive_too_big", /bomb/, archiveSource(small))
  await assertRefused(
    tarGz([zeros(3_000_000)]),
    "archive_too_big",
    /2000000 bytes/,
    archiveSource({ ...small, ratio: 1e6 }),
  )
  await assertRefused(tarGz(many), "archive_too_big", /100 entries/, archiveSource(small))
  await assertRefused(behindTheEnd, "archive_too_big", /bomb/, archiveSource(small))
  const fits = await unpack(tarGz([zeros(90_000)]), archiveSource(small))
  await fits.fetched
})
