/** What users copy is run by a test, and has a page that the list of recipes names. */
import assert from "node:assert/strict"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join, relative } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { recipesFolder } from "../testing/recipes.js"

const tests = fileURLToPath(new URL("../../src/recipes", import.meta.url))
const page = "README.md"

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))

/** Paths that a test gives to `recipe`, as files or as whole folders. */
const named = filesBelow(tests).flatMap((file) =>
  [...readFileSync(join(tests, file), "utf8").matchAll(/\brecipe\("([^"]+)"\)/g)].map(([, path = ""]) => path),
)

test("a test runs every file of the recipes", () => {
  const copied = filesBelow(recipesFolder).filter((file) => !file.endsWith(page))

  const isNamed = (file: string) => named.some((path) => file === path || file.startsWith(`${path}/`))
  assert.deepEqual(
    copied.filter((file) => !isNamed(file)),
    [],
    "write a test in tests/src/recipes that runs it, with its path in recipe(…)",
  )
  assert.deepEqual(
    named.filter((path) => !existsSync(join(recipesFolder, path))),
    [],
    "tests name files that do not exist",
  )
  assert.deepEqual(
    named.filter((path) => !path.includes("/")),
    [],
    "name each file, or a folder of files that are used together: with a whole recipe a new file would count as run",
  )
})

test("every recipe has a page, and the list of recipes leads to it", () => {
  const list = readFileSync(join(recipesFolder, page), "utf8")
  const folders = readdirSync(recipesFolder, { withFileTypes: true }).filter((entry) => entry.isDirectory())

  for (const { name } of folders) {
    assert.ok(existsSync(join(recipesFolder, name, page)), `docs/recipes/${name} has no ${page}`)
    assert.ok(list.includes(`](${name}/${page})`), `docs/recipes/${page} does not lead to ${name}`)
  }
})
