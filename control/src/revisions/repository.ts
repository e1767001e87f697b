/**
 * Validates a repository's address, a ref and a path inside it (D8). Valid ones are still only given to git after `--`: this
 * is the first of two defences. Pure: each check returns the problem as text.
 */

/** git's names for what it may fetch with (`GIT_ALLOW_PROTOCOL`). */
export type GitProtocol = "https" | "ssh" | "http" | "file" | "git"

const maxLength = 1024
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this refuses
const blankOrControl = /[\u0000-\u0020\u007f]/
// `git@github.com:acme/shop.git`, which git treats as ssh.
const scpForm = /^[\w][\w.-]*@[\w][\w.-]*:(?![-/]*-)[\w./~+-]+$/

/** @param allowed  the protocols of `SUPERSTEP_GIT_PROTOCOLS` */
export function repoUrlProblem(url: string, allowed: readonly GitProtocol[]): string | undefined {
  if (url.length > maxLength) return `is longer than ${maxLength} characters`
  if (blankOrControl.test(url)) return "contains blanks or control characters"
  const protocol = scpForm.test(url) ? "ssh" : protocolOf(url)
  if (protocol === undefined && url.startsWith("/"))
    return `is a path: for a repository on the platform's machine write file://${url}`
  if (protocol === undefined) return "is not a URL, such as https://github.com/acme/shop"
  if (!allowed.some((name) => name === protocol)) {
    return `uses ${protocol}, but only ${allowed.join(", ")} are allowed (SUPERSTEP_GIT_PROTOCOLS)`
  }
  return scpForm.test(url) ? undefined : partsProblem(new URL(url), protocol)
}

// `URL` also accepts `https:host`, `https:///host`, capitals and backslashes; git would see another host, ssh, or nothing.
const hostForm = /^([a-z][a-z0-9+.-]*):\/\/[^/\\][^\\]*$/
const fileForm = /^(file):\/\/\/[^/\\][^\\]*$/

function protocolOf(url: string): string | undefined {
  const protocol = (hostForm.exec(url) ?? fileForm.exec(url))?.[1]
  return URL.canParse(url) ? protocol : undefined
}

function partsProblem(url: URL, protocol: string): string | undefined {
  const { username, password, hostname, pathname } = url
  // Every read would show them, and every revision would keep them.
  if (password !== "" || (username !== "" && protocol !== "ssh")) {
    return "contains credentials: store them as an integration (POST /v2/integrations/git) and send its integration_id"
  }
  // ssh would treat such a host or user as an option (CVE-2017-1000117).
  if (hostname.startsWith("-") || username.startsWith("-")) return "starts its host with a dash"
  if (protocol === "file") {
    if (hostname !== "") return "contains a host: write file:///path"
  } else if (hostname === "") return "has no host"
  return pathname.replace(/\/+/, "") === "" ? "names no repository" : undefined
}

// git-check-ref-format(1), as far as a typed ref can violate it.
const forbiddenInRef = /\.\.|@\{|\/\/|[~^:?*[\\]/
const forbiddenPartOfRef = /^\.|\.lock$|^$/

/** @param ref  a branch, a tag as `refs/tags/<tag>`, or a commit id */
export function refProblem(ref: string): string | undefined {
  if (ref.length > 255) return "is longer than 255 characters"
  if (ref.startsWith("-")) return "starts with a dash, as an option of git would"
  if (blankOrControl.test(ref) || forbiddenInRef.test(ref) || ref === "@" || ref.endsWith(".")) {
    return "is not a valid branch, tag or commit"
  }
  return ref.split("/").some((part) => forbiddenPartOfRef.test(part))
    ? "is not a valid branch, tag or commit"
    : undefined
}

/** @param path  path of a file inside the repository */
export function configPathProblem(path: string): string | undefined {
  if (path === "" || path.length > maxLength) return `is empty or longer than ${maxLength} characters`
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this refuses
  if (/[\u0000-\u001f\u007f\\]/.test(path)) return "contains a backslash or control characters"
  if (path.startsWith("-")) return "starts with a dash"
  if (path.startsWith("/") || /^[a-z]:/i.test(path)) return "is absolute: give it relative to the repository's root"
  if (path.split("/").includes("..")) return "leaves the repository"
  return path.endsWith("/") || path.endsWith("/.") || path === "." ? "names a folder" : undefined
}

/** Checks an image's name in the syntax of registry clients, with host, tag or digest. */
export const imageUriProblem = (uri: string): string | undefined =>
  /^[a-z0-9][\w.:/@-]{0,511}$/i.test(uri) ? undefined : "is not an image reference, such as registry.example/agent:1"
