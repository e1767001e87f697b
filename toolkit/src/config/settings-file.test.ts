import assert from "node:assert/strict"
import { existsSync, lstatSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { temporaryFolder } from "../testing/temporary-folder.js"
import { InvalidSettings, Secret } from "./settings.js"
import { takeSettingsFile, writeSettingsFile } from "./settings-file.js"

test("a file of secret settings is read once and deleted", async () => {
  const path = join(temporaryFolder(), "settings.json")
  await writeSettingsFile(path, { TOKEN: new Secret("of the last start") })
  await writeSettingsFile(path, { TOKEN: new Secret("t") })
  const { mode } = lstatSync(path)
  const env = { PORT: "1", SUPERSTEP_SETTINGS_FILE: path }

  const taken = takeSettingsFile(env)

  assert.equal(mode & 0o777, 0o600)
  assert.deepEqual(taken, { ...env, TOKEN: "t" })
  assert.equal(existsSync(path), false)
  assert.throws(() => takeSettingsFile(env), InvalidSettings)
  assert.deepEqual(takeSettingsFile({ PORT: "1" }), { PORT: "1" }, "a process without such a file")
})

test("an invalid file causes an error that does not contain its content", () => {
  const path = join(temporaryFolder(), "settings.json")
  writeFileSync(path, '{"TOKEN": ["hidden"]}')

  assert.throws(
    () => takeSettingsFile({ SUPERSTEP_SETTINGS_FILE: path }),
    (error) => error instanceof InvalidSettings && error.message.includes(path) && !error.message.includes("hidden"),
  )
})

test("a link in place of the file is replaced, and its target is unchanged", async () => {
  const folder = temporaryFolder()
  const [path, other] = [join(folder, "settings.json"), join(folder, "other")]
  writeFileSync(other, "of somebody else")
  symlinkSync(other, path)

  await writeSettingsFile(path, { TOKEN: new Secret("t") })

  assert.equal(readFileSync(other, "utf8"), "of somebody else")
  assert.equal(lstatSync(path).isFile(), true)
})
