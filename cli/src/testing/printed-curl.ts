/**
 * The printed command, as a person copies it: from `curl` to the last continued line.
 * @param apiKey  in the place that `superstep up` leaves for it
 */
export function printedCurl(lines: readonly string[], apiKey = ""): string {
  const first = lines.findIndex((line) => line.includes("curl -N"))
  const last = lines.findIndex((line, index) => index > first && !line.endsWith("\\"))
  return lines
    .slice(first, last + 1)
    .join("\n")
    .replace(/^.*?curl/, "curl")
    .replace("<api_key in credentials.json>", apiKey)
}
