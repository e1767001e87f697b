import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import test from "node:test"
import { buildPrograms, packagesWithPrograms, programsAreStale } from "./programs.mjs"

/** A checkout with one package, one program and what npm leaves. */
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
  write("one/src/words.ts", "export const words: string = 'hello'\n")
  write("one/src/main.ts", 'import { words } from "./words.js"\nprocess.stdout.write(words)\n')
  write("package-lock.json", "{}")
  const start = (...args) =>
    spawnSync(process.execPath, [...args, join(folder, "one/programs/main.js")], { encoding: "utf8" })
  return { folder, write, start }
}

test("a program runs, also where its sources are not", async (t) => {
  const { folder, start } = checkout(t)
  await buildPrograms(folder)

  assert.deepEqual(packagesWithPrograms(folder), [
    { path: "one", programs: [{ name: "./main", file: "main.js", source: "src/main.ts" }] },
  ])
  assert.equal(programsAreStale(folder), false)
  assert.equal(start().stdout, "hello")
  rmSync(join(folder, "one/src"), { recursive: true })
  assert.equal(start().stdout, "hello")
})

test("a program whose sources were written anew with the same content runs", async (t) => {
  const { folder, write, start } = checkout(t)
  await buildPrograms(folder)
  write("one/src/words.ts", "export const words: string = 'hello'\n")

  assert.equal(programsAreStale(folder), false)
  assert.equal(start().stdout, "hello")
})

test("a program of other sources or packages does not start, and says what to do", async (t) => {
  for (const path of ["one/src/words.ts", "package-lock.json"]) {
    const { folder, write, start } = checkout(t)
    await buildPrograms(folder)
    write(path, path.endsWith(".ts") ? "export const words = 'changed'\n" : '{"changed":1}')

    const refused = start()

    assert.equal(programsAreStale(folder), true, path)
    assert.deepEqual([refused.status, refused.stdout], [1, ""])
    assert.match(refused.stderr, /one\/programs\/main\.js was not built from the present sources: run npm run build\n$/)
    await buildPrograms(folder)
    assert.equal(start().stdout, path.endsWith(".ts") ? "changed" : "hello")
  }
})

test("the parts of a former build stay for the processes that use them", async (t) => {
  const { folder, write } = checkout(t)
  await buildPrograms(folder)
  const former = readdirSync(join(folder, "one/programs"))
  write("one/src/words.ts", "export const words = 'changed'\n")
  await buildPrograms(folder)

  const gone = former.filter((name) => !readdirSync(join(folder, "one/programs")).includes(name))
  assert.deepEqual(gone, [])
})

test("the stack of an error names the lines of the sources", async (t) => {
  const { folder, write, start } = checkout(t)
  write("one/src/words.ts", "interface Words {}\n\nexport const words: Words = missing()\n")
  await buildPrograms(folder)

  assert.match(start("--enable-source-maps").stderr, /at .*one\/src\/words\.ts:3/)
})
