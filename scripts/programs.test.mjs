import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import test from "node:test"
import { buildPrograms, packagesWithPrograms, programsAreStale } from "./programs.mjs"

/** A checkout with one package, one program and what the compiler and npm leave. */
function checkout(t) {
  const folder = mkdtempSync(join(tmpdir(), "programs-"))
  t.after(() => rmSync(folder, { recursive: true }))
  const write = (path, text) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  write("package.json", JSON.stringify({ workspaces: ["one"] }))
  const exports = { "./main": "./programs/main.js", "./*": { default: "./dist/*.js" } }
  write("one/package.json", JSON.stringify({ name: "one", type: "module", exports }))
  write("one/tsconfig.json", "{}")
  write("one/dist/.tsbuildinfo", "first")
  write("one/dist/words.js", "export const words = 'hello'\n")
  write("one/dist/main.js", 'import { words } from "./words.js"\nprocess.stdout.write(words)\n')
  write("node_modules/.package-lock.json", "{}")
  const start = (...args) =>
    spawnSync(process.execPath, [...args, join(folder, "one/programs/main.js")], { encoding: "utf8" })
  return { folder, write, start }
}

test("a program runs without the files that it was made from", async (t) => {
  const { folder, start } = checkout(t)
  await buildPrograms(folder)
  for (const file of ["main.js", "words.js"]) rmSync(join(folder, "one/dist", file))

  assert.deepEqual(packagesWithPrograms(folder), [
    { path: "one", programs: [{ name: "./main", file: "main.js", source: "dist/main.js" }] },
  ])
  assert.equal(start().stdout, "hello")
  assert.equal(programsAreStale(folder), false)
})

test("a program that is older than what is compiled or installed does not start, and says what to do", async (t) => {
  for (const path of ["one/dist/.tsbuildinfo", "node_modules/.package-lock.json"]) {
    const { folder, write, start } = checkout(t)
    await buildPrograms(folder)
    write("one/dist/words.js", "export const words = 'changed'\n")
    write(path, '{"changed":1}')

    const refused = start()

    assert.equal(programsAreStale(folder), true, path)
    assert.deepEqual([refused.status, refused.stdout], [1, ""])
    assert.match(
      refused.stderr,
      /one\/programs\/main\.js was not built from the present compiled sources: run npm run build\n$/,
    )
    await buildPrograms(folder)
    assert.equal(start().stdout, "changed")
  }
})

test("the parts of a former build stay for the processes that use them", async (t) => {
  const { folder, write } = checkout(t)
  await buildPrograms(folder)
  const former = readdirSync(join(folder, "one/programs"))
  write("one/dist/words.js", "export const words = 'changed'\n")
  await buildPrograms(folder)

  assert.deepEqual(
    former.filter((name) => !readdirSync(join(folder, "one/programs")).includes(name)),
    [],
  )
})

test("the stack of an error names the lines of the sources", async (t) => {
  const { folder, write, start } = checkout(t)
  const map = { version: 3, sources: ["../src/words.ts"], names: [], mappings: "AAEA" }
  const inline = `data:application/json;base64,${Buffer.from(JSON.stringify(map)).toString("base64")}`
  write("one/dist/words.js", `export const words = missing()\n//# sourceMappingURL=${inline}\n`)
  await buildPrograms(folder)

  assert.match(start("--enable-source-maps").stderr, /at .*one\/src\/words\.ts:3/)
})
