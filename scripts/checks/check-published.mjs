/**
 * No page, program or comment may contain a command that fetches one of our packages from a place where none of ours is
 * (toolkit/src/published.ts): whoever pastes it would run what somebody else has registered under the name.
 */
import { posix } from "node:path"

// `superstep`, also with extras, a version or a tag, but no path, no file and no longer name.
const name = String.raw`superstep(?:[@:=\[<>~][^\s\x60"']*)?(?![\w./-])`
// Options without a value, or with one after `=`.
const options = String.raw`(?:-[\w-]+(?:=\S+)?\s+)*`

/** Each `{ field, pattern, instead }`: the field of `published` that must be set where the pattern matches. */
const commands = [
  {
    field: "npmPackage",
    pattern: new RegExp(
      String.raw`\b(?:npx|npm exec|pnpm dlx|yarn dlx|bunx)\s+(?!--no\s)${options}(?:create-)?${name}`,
    ),
    instead: "npx --no -- superstep, which installs nothing, or node with the path of this clone",
  },
  {
    field: "npmPackage",
    pattern: new RegExp(String.raw`\b(?:npm|pnpm|yarn|bun)\s+(?:install|i|add|create|init)\s+${options}${name}`),
    instead: "the path of the tarball",
  },
  {
    field: "pythonPackage",
    pattern: new RegExp(
      String.raw`\b(?:pip3?\s+install|pipx\s+(?:run|install)|uv\s+(?:add|tool\s+(?:run|install))|uvx)\s+${options}${name}`,
    ),
    instead: "the path of the wheel",
  },
  {
    field: "image",
    // Images without a registry's host are those of Docker Hub.
    pattern: new RegExp(
      String.raw`(?:\bdocker\s+(?:run|pull|create)\b(?!.*--pull[= ]never)[^\n]*\s|^\s*FROM\s+|^\s*-?\s*image:\s*["']?)(?:[\w-]+\/)?${name}`,
    ),
    instead: "an image of images.example.com, or docker run --pull never where the image was loaded before",
  },
  {
    field: "chart",
    pattern: /\bhelm\s+(?:install|upgrade|template|pull|show)\b[^\n]*\boci:\/\/(?![\w.-]*example\.com\b)/,
    instead: "deploy/helm/superstep, or an address of example.com",
  },
  {
    field: "chart",
    pattern: /\bhelm\s+repo\s+add\s+superstep\b/,
    instead: "deploy/helm/superstep",
  },
]

/**
 * @param files      `{ path, text }`
 * @param published  as in toolkit/src/published.ts
 * @returns          problems as `{ path, line, message }`
 */
export function checkPublished(files, published) {
  const forbidden = commands.filter(({ field }) => published[field] === undefined)
  return files
    .filter(({ path }) => !posix.basename(path).startsWith("check-published."))
    .flatMap(({ path, text }) => commandsOf(text).flatMap((line, index) => problemsOf(path, line, index, forbidden)))
}

/** The lines of a text. One that ends with a backslash has the ones after it, up to the end of its command; these are empty. */
function commandsOf(text) {
  const lines = text.split("\n")
  for (let index = lines.length - 2; index >= 0; index--) {
    if (!/(^|\s)\\\r?$/.test(lines[index])) continue
    lines[index] = `${lines[index].replace(/\\\r?$/, "")} ${lines[index + 1].trimStart()}`
    lines[index + 1] = ""
  }
  return lines
}

const problemsOf = (path, line, index, forbidden) =>
  forbidden.flatMap(({ pattern, instead, field }) => {
    const match = pattern.exec(line)
    if (!match) return []
    const message = `"${match[0].trim()}" fetches what is not ours, since ${field} is not published: write ${instead}`
    return [{ path, line: index + 1, message }]
  })
