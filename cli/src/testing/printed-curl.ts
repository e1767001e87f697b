/** The printed command, as a person copies it: from `curl` to the last continued line. */
export function printedCurl(lines: readonly string[]): string {
  const first = lines.findIndex((line) => line.includes("curl -N"))
  const last = lines.findIndex((line, index) => index > first && !line.endsWith("\\"))
  return lines
    .slice(first, last + 1)
    .join("\n")
    .replace(/^.*?curl/, "curl")
}
