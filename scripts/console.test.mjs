import assert from "node:assert/strict"
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import test from "node:test"
import { consoleIsStale, filesOfSite, loadedFirst, placeSite } from "./console.mjs"
import { root } from "./setup.mjs"

const site = join(root, "console/site")

// `npm test` has built the site before.
test("the page names files that exist, and has no script of its own, which the content policy would refuse", () => {
  const page = readFileSync(join(site, "index.html"), "utf8")
  const named = [...page.matchAll(/(?:src|href)="(assets\/[^"]+)"/g)].map(([, path]) => path)

  assert.equal(consoleIsStale(), false)
  assert.equal(named.length, 2)
  for (const path of named) assert.ok(existsSync(join(site, path)), path)
  assert.doesNotMatch(page, /<script(?![^>]*\bsrc=)|<style|\son\w+=|\sstyle=/)
})

test("the official client of agents is not loaded before the first screen", () => {
  const first = loadedFirst().map(({ name }) => readFileSync(join(site, "assets", name), "utf8"))

  assert.ok(first.length > 1)
  assert.ok(first.every((text) => !text.includes("/threads/search")))
})

test("a new build keeps the files of the one before it, which browsers still load, and no older ones", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "superstep-site-"))
  t.after(() => rmSync(folder, { recursive: true }))
  const place = (...names) =>
    placeSite(folder, {
      files: new Map(names.map((name) => [name, name])),
      page: names[0],
      about: { digest: names[0] },
    })
  const assets = () => readdirSync(join(folder, "assets")).sort()

  place("main-1.js", "shared.js")
  place("main-2.js", "part-2.js", "shared.js")
  const second = assets()
  place("main-3.js", "shared.js")

  assert.deepEqual(second, ["main-1.js", "main-2.js", "part-2.js", "shared.js"])
  assert.deepEqual(assets(), ["main-2.js", "main-3.js", "part-2.js", "shared.js"])
  assert.equal(readFileSync(join(folder, "index.html"), "utf8"), "main-3.js")
})

test("the published package gets the files of the present build", () => {
  const files = filesOfSite()

  assert.ok(files.includes("index.html") && files.length > 3)
  const missing = files.filter((file) => !existsSync(join(site, file)))
  assert.deepEqual(missing, [])
})
