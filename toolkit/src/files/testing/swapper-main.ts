/** Swaps folders for a link and back as fast as it can, in a race with a process that works in them by path. */
import { mkdirSync, renameSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const [, , place = "", victim = "", count = "0"] = process.argv
const names = Array.from({ length: Number(count) }, (_, index) => `f${index}`)

process.chdir(place)
for (const name of names) {
  mkdirSync(name)
  writeFileSync(join(name, "kept"), "")
}
process.stdout.write("ready\n")
for (;;) for (const name of names) swap(name)

function swap(name: string): void {
  try {
    renameSync(name, `${name}.away`)
    symlinkSync(victim, name)
    unlinkSync(name)
    renameSync(`${name}.away`, name)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // The folder was deleted, or is no longer ours: nothing is left to do.
    if (code === "EACCES" || code === "EPERM") process.exit(0)
    if (!["ENOENT", "EEXIST", "ENOTDIR", "ENOTEMPTY", "EISDIR"].includes(code ?? "")) throw error
  }
}
