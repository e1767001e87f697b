/** Pages of docs/ that are printed from the code. */
import assert from "node:assert/strict"
import { readFile, writeFile } from "node:fs/promises"

/** Asserts that a file is what the code prints, or writes it with `UPDATE_DOCS=1`. A failure shows the lines that differ. */
export async function expectPage(page: URL, printed: string): Promise<void> {
  if (process.env.UPDATE_DOCS === "1") await writeFile(page, printed)
  const [is, shouldBe] = [await readFile(page, "utf8"), printed].map((text) => text.split("\n"))
  const only = (lines: string[] = [], others: string[] = []) => {
    const known = new Set(others)
    return lines.filter((line) => !known.has(line))
  }
  assert.deepEqual(only(is, shouldBe), only(shouldBe, is), `lines of ${page.pathname}, and of what the code prints`)
  assert.ok(is?.join("\n") === printed, `${page.pathname} has other lines, or another order, than what the code prints`)
}
