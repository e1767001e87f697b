import assert from "node:assert/strict"
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { test } from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { findProjectFiles } from "./project-files.js"

function projectOf(files: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder()
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return folder
}

test("files that git or Docker ignore, generated files and .env are excluded", () => {
  const folder = projectOf({
    ".gitignore": "*.log\n/dist\n!keep.log\n",
    ".dockerignore": "docs\n",
    ".env": "KEY=1",
    ".env.local": "KEY=2",
    ".env.example": "KEY=",
    "a.log": "",
    "keep.log": "",
    "dist/a.js": "",
    "src/dist/b.ts": "12345",
    "docs/a.md": "",
    "node_modules/x/index.js": "",
    "apps/one/node_modules/x/index.js": "",
    "langgraph.json": "{}",
  })

  const { paths, bytes } = findProjectFiles(folder)

  assert.deepEqual(paths, [
    ".dockerignore",
    ".env.example",
    ".gitignore",
    "keep.log",
    "langgraph.json",
    "src/dist/b.ts",
  ])
  assert.equal(bytes, 5 + "{}".length + "docs\n".length + "KEY=".length + "*.log\n/dist\n!keep.log\n".length)
})

test("ignore rules in a folder apply below that folder", () => {
  const folder = projectOf({ "a/.gitignore": "/out\n", "a/out/x": "", "a/b/out/x": "", "out/x": "" })

  assert.deepEqual(findProjectFiles(folder).paths, ["a/.gitignore", "a/b/out/x", "out/x"])
})

test("links are listed and not followed", () => {
  const folder = projectOf({ "a.ts": "" })
  symlinkSync("/etc", join(folder, "etc"))
  symlinkSync("a.ts", join(folder, "b.ts"))

  assert.deepEqual(findProjectFiles(folder), { paths: ["a.ts"], bytes: 0, links: ["b.ts", "etc"] })
})
