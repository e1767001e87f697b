/** The tests for what every source promises (`port.ts`), whatever it fetches from. */
import assert from "node:assert/strict"
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import test from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import type { Source } from "./port.js"

type Files = Readonly<Record<string, string>>

/** A source under test, and a way to store code where it finds it. */
export interface SourceSetting<Location> {
  readonly source: Source<Location>
  /** Stores exactly these files as a newer state of the same code. */
  store(files: Files): Promise<Location>
}

/** @param name  start of the names of the tests */
export function testSource<Location>(name: string, setting: () => Promise<SourceSetting<Location>>): void {
  const { signal } = new AbortController()
  const one = { "a.txt": "1", "sub/b.txt": "b" }

  test(`${name}: every fetch of an id yields the same files and replaces leftovers of a killed fetch`, async () => {
    const { source, store } = await setting()
    const location = await store(one)
    const id = await source.resolve(location, signal)
    const folder = join(temporaryFolder(), "tree")
    mkdirSync(`${folder}.partial`)
    writeFileSync(join(`${folder}.partial`, "left"), "by a killed fetch")

    const first = await source.fetch(location, id, folder, signal)
    writeFileSync(join(folder, "made"), "by a build")
    const second = await source.fetch(location, id, folder, signal)

    assert.deepEqual(second, first)
    assert.deepEqual(readdirSync(folder).sort(), ["a.txt", "sub"])
    assert.equal(readFileSync(join(folder, "sub/b.txt"), "utf8"), "b")
    assert.ok(!existsSync(`${folder}.partial`))
  })

  test(`${name}: equal trees have equal hashes, different trees different ones`, async () => {
    const { source, store } = await setting()
    const hashOf = async (files: Files) => {
      const location = await store(files)
      const id = await source.resolve(location, signal)
      return (await source.fetch(location, id, join(temporaryFolder(), "tree"), signal)).treeHash
    }

    const hashes = [await hashOf(one), await hashOf({ ...one, "a.txt": "2" }), await hashOf(one)]

    assert.equal(hashes[0], hashes[2])
    assert.notEqual(hashes[0], hashes[1])
  })

  test(`${name}: an aborted fetch rejects with an AbortError and leaves no tree`, async () => {
    const { source, store } = await setting()
    const location = await store(one)
    const id = await source.resolve(location, signal)
    const folder = join(temporaryFolder(), "tree")

    await assert.rejects(source.fetch(location, id, folder, AbortSignal.abort()), { name: "AbortError" })
    assert.ok(!existsSync(folder))
  })
}
