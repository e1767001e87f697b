import assert from "node:assert/strict"
import test from "node:test"
import { checkNotes, parseNote, withNextUpgrade, withRelease } from "./changes.mjs"

test("a note has a kind, and one paragraph for the user", () => {
  assert.deepEqual(parseNote("kind: repair\n\nRuns start\nagain.\n"), { kind: "repair", text: "Runs start again." })
})

test("npm run check names notes in another form", () => {
  const problems = checkNotes([
    { path: "changes/README.md", text: "# Notes" },
    { path: "changes/good.md", text: "kind: safety\n\nYes.\n" },
    { path: "changes/kind.md", text: "kind: toString\n\nNo.\n" },
    { path: "changes/empty.md", text: "kind: new\n\n\n" },
    { path: "changes/note.txt", text: "kind: new\n\nNo.\n" },
    { path: "changes/essay.md", text: "# Release\n" },
    { path: "docs/a.md", text: "" },
  ])

  const paths = problems.map(({ path }) => path)
  assert.deepEqual(paths, ["changes/kind.md", "changes/empty.md", "changes/note.txt", "changes/essay.md"])
})

test("a release has its essay and its notes by kind, above the releases before", () => {
  const notes = [
    { kind: "repair", text: "A." },
    { kind: "safety", text: "B, for $& of you." },
    { kind: "repair", text: "C." },
  ]

  assert.equal(
    withRelease("# Changelog\n\n## 0.1.0\n", {
      notes,
      text: "What it is.\n\nWhat is next.\n",
      release: "0.2.0 (2026-12-01)",
    }),
    "# Changelog\n\n## 0.2.0 (2026-12-01)\n\nWhat it is.\n\nWhat is next.\n\n### Safety\n\n- B, for $& of you.\n\n### Repairs\n\n- A.\n- C.\n\n## 0.1.0\n",
  )
})

test("a page without the heading that a release needs ends it, and no note is lost", () => {
  assert.throws(() => withRelease("Changelog\n", { notes: [], text: "", release: "0.3.0" }), /must start with/)
  assert.throws(() => withNextUpgrade("## Notes\n", "0.3.0"), /must have a heading/)
})

test("the upgrade notes of a release get its number, and the next one has a place for its own", () => {
  assert.equal(
    withNextUpgrade("## Notes\n\n### 0.2.0 to the next release\n\n- A.\n\n### 0.1.0 to 0.2.0\n", "0.3.0"),
    "## Notes\n\n### 0.3.0 to the next release\n\nNothing so far.\n\n### 0.2.0 to 0.3.0\n\n- A.\n\n### 0.1.0 to 0.2.0\n",
  )
})
