import assert from "node:assert/strict"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import test from "node:test"
import { consoleIsStale, loadedFirst } from "./console.mjs"
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
