/**
 * The repository has no published address: a link from docs/ to a file that is no page of the site is shown as that file's path. The site has pages
 * and pictures.
 */
import { posix } from "node:path"

export function repositoryPaths(md) {
  md.core.ruler.push("repository_paths", ({ env, tokens, Token }) => {
    const folder = posix.join("docs", posix.dirname(env.relativePath ?? ""))
    for (const token of tokens) if (token.children) token.children = withPaths(token.children, folder, Token)
  })
}

/** @param folder  of the page, relative to the repository */
function withPaths(tokens, folder, Token) {
  const result = []
  for (let at = 0; at < tokens.length; at += 1) {
    const path = pathOfFile(tokens[at], folder)
    if (path === undefined) {
      result.push(tokens[at])
      continue
    }
    const end = tokens.findIndex((token, index) => index > at && token.type === "link_close")
    const text = tokens.slice(at + 1, end)
    const words = text.map(({ content }) => content).join("")
    if (path.endsWith(words)) result.push(code(Token, path))
    else result.push(...text, plain(Token, " ("), code(Token, path), plain(Token, ")"))
    at = end
  }
  return result
}

function pathOfFile(token, folder) {
  if (token.type !== "link_open") return undefined
  const [target] = token.attrGet("href").split("#")
  if (target === "" || /^([a-z]+:|\/)/.test(target)) return undefined
  const path = posix.join(folder, target)
  return /^docs\/.*\.(md|png|svg)$/.test(path) ? undefined : path
}

function code(Token, path) {
  const token = new Token("code_inline", "code", 0)
  token.markup = "`"
  token.content = path
  return token
}

function plain(Token, text) {
  const token = new Token("text", "", 0)
  token.content = text
  return token
}
