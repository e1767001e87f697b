/** Recognizes different addresses of one repository. Pure. */
import { withoutEnd } from "@superstep/toolkit/text/without-end"

// `git@github.com:acme/shop.git`, which git treats as ssh.
const scpForm = /^(?:[\w.-]+@)?([\w.-]+):(?!\/\/)(.+)$/

/**
 * One text for all addresses of a repository: https or ssh, with or without `.git`, ignoring case in the host. Hosts ignore
 * the case of owners and names too; only paths of this machine are case-sensitive. The port counts for http(s): a host's
 * ssh port does not say which host it is.
 * @returns  `github.com/acme/shop`, or undefined for text that is no address
 */
export function repositoryKey(address: string): string | undefined {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(address)) return keyOfUrl(address)
  const [, host, path] = scpForm.exec(address) ?? []
  return host && path ? keyOf(host, path) : undefined
}

function keyOfUrl(address: string): string | undefined {
  if (!URL.canParse(address)) return undefined
  const { protocol, hostname, host, pathname } = new URL(address)
  if (protocol === "file:") return `file:${trimmed(pathname)}`
  if (hostname === "") return undefined
  const isWeb = protocol === "http:" || protocol === "https:"
  return keyOf(isWeb ? host : hostname, pathname)
}

function keyOf(host: string, path: string): string | undefined {
  const name = trimmed(path)
  return name === "" ? undefined : `${host}/${name}`.toLowerCase()
}

const trimmed = (path: string): string => withoutEnd(path.replace(/^\/+/, ""), "/").replace(/\.git$/i, "")

/** The path of a repository on its host, such as `acme/shop`, in its own case; undefined if it is on no host. */
export function repositoryPath(address: string): string | undefined {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(address)) {
    return URL.canParse(address) ? decoded(trimmed(new URL(address).pathname)) : undefined
  }
  const path = scpForm.exec(address)?.[2]
  return path === undefined ? undefined : trimmed(path)
}

function decoded(path: string): string | undefined {
  try {
    return decodeURIComponent(path)
  } catch {
    // Invalid percent encoding, so no repository of a host either.
    return undefined
  }
}
