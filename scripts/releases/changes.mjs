/**
 * Notes of changes (changes/README.md): their form, which `npm run check` proves, and the command that makes a release of them:
 * `node scripts/releases/changes.mjs 0.3.0`.
 */
import { execFileSync } from "node:child_process"
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { withVersion } from "../checks/versions.mjs"
import { explain, root, SetupFailed } from "../setup.mjs"

/** What the release is, what it means for who upgrades, and what is next. */
const essay = "changes/essay.md"
const upgrading = "docs/upgrading.md"
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
      if (path === essay)
        return /^#|^\s*$/.test(text) ? [{ path, line: 1, message: "an essay is paragraphs, without a heading" }] : []
      const message = path.endsWith(".md") ? parseNote(text).problem : "a note is a .md file: see changes/README.md"
      return message === undefined ? [] : [{ path, line: 1, message }]
    })

/**
 * @param changelog  with the heading `# Changelog` and the section of the last release below
 * @param notes      parsed
 * @param text       the essay
 * @param release    such as `0.2.0 (2026-12-01)`
 * @returns          the changelog with a section for the release on top
 */
export function withRelease(changelog, { notes, text, release }) {
  const parts = Object.entries(sections).flatMap(([kind, title]) => {
    const texts = notes.filter((note) => note.kind === kind).map((note) => `- ${note.text}`)
    return texts.length === 0 ? [] : [`### ${title}\n\n${texts.join("\n")}\n`]
  })
  const section = `## ${release}\n\n${text.trim()}\n\n${parts.join("\n")}`
  return replaced(
    changelog,
    /^# Changelog\n/,
    () => `# Changelog\n\n${section}`,
    'CHANGELOG.md must start with "# Changelog"',
  )
}

/** A heading that is missing would lose what is written below it. */
function replaced(text, heading, replacement, problem) {
  if (!heading.test(text)) throw new SetupFailed(problem)
  return text.replace(heading, replacement)
}

/**
 * @param text  of docs/upgrading.md, with the heading `### 0.2.0 to the next release`
 * @returns     the same with the release's number in that heading, and an empty section for the one after it above
 */
export const withNextUpgrade = (text, version) =>
  replaced(
    text,
    /^### (\S+) to the next release$/m,
    (_, former) => `### ${version} to the next release\n\nNothing so far.\n\n### ${former} to ${version}`,
    `${upgrading} must have a heading "### … to the next release"`,
  )

/** Writes everything that the commit of a release contains. */
function makeRelease(version) {
  if (!/^\d+\.\d+\.\d+$/.test(version ?? ""))
    throw new SetupFailed("usage: node scripts/releases/changes.mjs VERSION, such as 0.3.0")
  if (!existsSync(join(root, essay)))
    throw new SetupFailed(`write ${essay} first: changes/README.md says what it contains`)
  const read = (path) => readFileSync(join(root, path), "utf8")
  const files = readdirSync(join(root, "changes")).filter((name) => name !== "README.md")
  const notes = files
    .sort()
    .filter((name) => `changes/${name}` !== essay)
    .map((name) => parseNote(read(`changes/${name}`)))
  if (notes.some(({ problem }) => problem)) throw new SetupFailed("a note has another form: npm run check names it")
  const release = `${version} (${new Date().toISOString().slice(0, 10)})`
  // All that may fail comes before the first change, and the notes go last.
  const changelog = withRelease(read("CHANGELOG.md"), { notes, text: read(essay), release })
  const upgrade = withNextUpgrade(read(upgrading), version)
  const tracked = execFileSync("git", ["ls-files", "*package.json", "package-lock.json", "*Chart.yaml", "docs/*.md"], {
    cwd: root,
  })
  const paths = tracked.toString().trim().split("\n")
  const versioned = withVersion(
    paths.map((path) => ({ path, text: read(path) })),
    version,
  )
  writeFileSync(join(root, "CHANGELOG.md"), changelog)
  writeFileSync(join(root, upgrading), upgrade)
  for (const { path, text } of versioned) writeFileSync(join(root, path), text)
  for (const name of files) rmSync(join(root, "changes", name))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    makeRelease(process.argv[2])
  } catch (error) {
    explain(error)
  }
}
