/** A unified diff as lines with a meaning. Pure. */

export interface DiffLine {
  readonly kind: "place" | "added" | "removed" | "same"
  /** Without the sign of a line that was added or removed. */
  readonly text: string
}

/** @param diff  hunks, without a header of files */
export function diffLines(diff: string): DiffLine[] {
  if (diff === "") return []
  return diff
    .replace(/\n$/, "")
    .split("\n")
    .map((line): DiffLine => {
      const rest = line.slice(1)
      if (line.startsWith("@@")) return { kind: "place", text: line.replace(/^(@@ .* @@).*/, "$1") }
      if (line.startsWith("+")) return { kind: "added", text: rest }
      if (line.startsWith("-")) return { kind: "removed", text: rest }
      // `\ No newline at end of file`
      if (line.startsWith("\\")) return { kind: "place", text: rest.trim() }
      return { kind: "same", text: rest }
    })
}

export const signs: Readonly<Record<DiffLine["kind"], string>> = { place: "", added: "+", removed: "-", same: " " }

/** How many lines were added and removed. */
export function countsOf(lines: readonly DiffLine[]): { readonly added: number; readonly removed: number } {
  const count = (kind: DiffLine["kind"]) => lines.filter((line) => line.kind === kind).length
  return { added: count("added"), removed: count("removed") }
}
