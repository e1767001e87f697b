/**
 * Notes of changes (changes/README.md): their form, which `npm run check` proves, and the command that gathers them for a release:
 * `node scripts/changes.mjs 0.2.0`.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { root } from "./setup.mjs"

const sections = { safety: "Safety", new: "What you can do now", repair: "Repairs" }

/** @returns  `{ kind, text }`, or `{ problem }` for a note in another form */
export function parseNote(note) {
  const [, kind = "", text = ""] = /^kind: (\w+)\n\n([\s\S]*\S)\s*$/.exec(note) ?? []
  if (!Object.hasOwn(sections, kind))
    return {
      problem: `the first line must be "kind: ${Object.keys(sections).join('" or "kind: ')}", then an empty line`,
    }
  return { kind, text: text.replaceAll(/\s*\n\s*/g, " ") }
}

/** @param files  `{ path, text }`  @returns problems as `{ path, line, message }` */
export const checkNotes = (files) =>
  files
    .filter(({ path }) => path.startsWith("changes/") && path !== "changes/README.md")
    .flatMap(({ path, text }) => {
      const message = path.endsWith(".md") ? parseNote(text).problem : "a note is a .md file: see changes/README.md"
      return message === undefined ? [] : [{ path, line: 1, message }]
    })

/**
 * @param changelog  with the heading `# Changelog` and the section of the last release below
 * @param notes      parsed
 * @param release    such as `0.2.0 (2026-12-01)`
 * @returns          the changelog with a section for the release on top
 */
export function withRelease(changelog, notes, release) {
  const parts = Object.entries(sections).flatMap(([kind, title]) => {
    const texts = notes.filter((note) => note.kind === kind).map(({ text }) => `- ${text}`)
    return texts.length === 0 ? [] : [`### ${title}\n\n${texts.join("\n")}\n`]
  })
  return changelog.replace("# Changelog\n", () => `# Changelog\n\n## ${release}\n\n${parts.join("\n")}`)
}

function gather(version) {
  if (!/^\d+\.\d+\.\d+$/.test(version ?? "")) throw new Error("usage: node scripts/changes.mjs VERSION, such as 0.2.0")
  const folder = join(root, "changes")
  const files = readdirSync(folder).filter((name) => name !== "README.md")
  const notes = files.sort().map((name) => parseNote(readFileSync(join(folder, name), "utf8")))
  if (notes.some(({ problem }) => problem)) throw new Error("a note has another form: npm run check names it")
  const changelog = join(root, "CHANGELOG.md")
  const release = `${version} (${new Date().toISOString().slice(0, 10)})`
  writeFileSync(changelog, withRelease(readFileSync(changelog, "utf8"), notes, release))
  for (const name of files) rmSync(join(folder, name))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) gather(process.argv[2])
