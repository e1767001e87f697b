import assert from "node:assert/strict"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import test from "node:test"
import { groupsOfPages } from "../docs/.vitepress/sidebar.mjs"
import { deadLinks, replaceSite } from "./docs.mjs"
import { root } from "./setup.mjs"

const page = (...links) => `<h1 id="page">Page</h1>${links.map((link) => `<a class="x" href="${link}">a</a>`).join("")}`

test("a missing page, a missing heading and a page without content are problems", () => {
  const pages = new Map([
    ["index.html", page("/docs/nothing", "/docs/streaming#gone")],
    ["streaming.html", "<main></main>"],
    ["other.html", page("./streaming#gone", "#gone")],
  ])

  assert.deepEqual(deadLinks(pages), [
    "docs/index.html: links to /docs/nothing, which does not exist",
    "docs/index.html: links to /docs/streaming#gone, a heading that does not exist",
    "docs/streaming.html: the page is empty: it has no title",
    "docs/other.html: links to /docs/streaming#gone, a heading that does not exist",
    "docs/other.html: links to /docs/other.html#gone, a heading that does not exist",
  ])
})

test("pages that are open when a new site is built can load their assets, until the one after it", () => {
  const folder = mkdtempSync(join(tmpdir(), "docs-site-"))
  const [next, site] = [join(folder, "site.new"), join(folder, "site")]
  const build = (name) => {
    mkdirSync(join(next, "assets"), { recursive: true })
    const files = ["index.html", "assets/same.js", `assets/search.${name}.js`]
    for (const file of files) writeFileSync(join(next, file), name)
    writeFileSync(join(next, "digest.json"), JSON.stringify({ files }))
    replaceSite(next, site)
    return readdirSync(join(site, "assets")).sort()
  }

  assert.deepEqual(build("1"), ["same.js", "search.1.js"])
  assert.deepEqual(build("2"), ["same.js", "search.1.js", "search.2.js"])
  assert.deepEqual(build("3"), ["same.js", "search.2.js", "search.3.js"])
  assert.equal(readFileSync(join(site, "assets/same.js"), "utf8"), "3")
  assert.deepEqual(readdirSync(folder), ["site"])
  rmSync(folder, { recursive: true })
})

test("the navigation has the groups of docs/README.md, and every page exactly once", () => {
  const groups = groupsOfPages()
  const [first] = groups[0].items

  assert.match(
    readFileSync(join(root, "docs/README.md"), "utf8"),
    new RegExp(`^## ${groups[0].text}\n\n- \\[${first.text}\\]`, "m"),
  )
  const links = groups.flatMap(({ items }) => items.map(({ link }) => link))
  const pages = readdirSync(join(root, "docs"), { recursive: true })
    .filter((file) => file.endsWith(".md") && !/^(decisions|node_modules)\//.test(file))
    .map((file) => `/${file.replace(/\.md$/, "")}`)
  assert.deepEqual(links.toSorted(), pages.filter((link) => link !== "/README").sort())
})
