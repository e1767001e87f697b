/** What a page shows, as lines that can be compared: scripts that run in the page, and what differs. */

/**
 * A line for each row, of its cells.
 * @param cells  selectors in the row, "" for the row itself; `@href` at the end is the last part of a link, `#checked` a property
 * @param root   a script that finds where the rows are
 */
const rowsIn = (
  root: string,
  row: string,
  cells: readonly string[],
): string => `[...(${root}?.querySelectorAll(${JSON.stringify(row)}) ?? [])]
  .map((one) => ${JSON.stringify(cells)}.map((cell) => {
    const [, selector, kind, name] = /^([^@#]*)([@#]?)(.*)$/.exec(cell)
    const found = selector === "" ? one : one.querySelector(selector)
    if (found === null) return "nothing"
    if (kind === "@") return found.getAttribute(name).split(/[?#]/)[0].split("/").at(-1)
    return (kind === "#" ? String(found[name]) : found.textContent).replace(/[○●✕❚]/g, "").replace(/\\s+/g, " ").trim()
  }).join(" | "))`

export const rows = (row: string, ...cells: readonly string[]): string => rowsIn("document", row, cells)

export const together = (...lists: readonly string[]): string => `[${lists.map((list) => `...${list}`).join(", ")}]`

/** The rows of the table in a section of the page, after its heading. */
export const inSection = (title: string, ...cells: readonly string[]): string => {
  const section = `[...document.querySelectorAll("section")].find((one) => one.querySelector("h2")?.textContent === ${JSON.stringify(title)})`
  return `${rowsIn(section, "tbody tr", cells)}.map((line) => ${JSON.stringify(`${title}: `)} + line)`
}

/** @returns  what differs; undefined when the page agrees. Pure */
export function differenceOf(shown: readonly string[], said: readonly string[], isPart = false): string | undefined {
  const wrong = without(shown, said)
  const missing = isPart && shown.length > 0 ? [] : without(said, shown)
  if (wrong.length === 0 && missing.length === 0) return undefined
  return `the page shows ${quoted(wrong)}, the API says ${quoted(missing.length > 0 ? missing : said)}`
}

/** As often as each line is there. */
function without(lines: readonly string[], others: readonly string[]): string[] {
  const left = [...others]
  return lines.filter((line) => {
    const at = left.indexOf(line)
    if (at >= 0) left.splice(at, 1)
    return at < 0
  })
}

const quoted = (lines: readonly string[]): string =>
  lines.length === 0
    ? "nothing more"
    : lines
        .slice(0, 8)
        .map((line) => `“${line}”`)
        .join(", ")
