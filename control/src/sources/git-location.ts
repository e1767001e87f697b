/** What git needs to find code. Pure. */
import { fileURLToPath } from "node:url"
import type { Secret } from "@superstep/toolkit/config/settings"

/** The credentials of an integration, for one host. */
export type GitCredentials =
  | {
      readonly kind: "token"
      /** `github.com` or `git.example.org:3000`; no other host ever sees the token. */
      readonly host: string
      readonly username: string
      readonly token: Secret
    }
  | {
      readonly kind: "ssh_key"
      readonly host: string
      /** In a format that `ssh -i` reads, without a passphrase. */
      readonly privateKey: Secret
      /** Lines of a known_hosts file: other keys of the host are rejected. Null: the first key that it shows is stored. */
      readonly knownHosts: string | null
    }

export interface GitLocation {
  readonly repoUrl: string
  /** A branch, `refs/tags/<tag>`, or a full commit id. */
  readonly ref: string
  readonly credentials?: GitCredentials
}

/** Whether the credentials are for this repository: the same host, and the transport that they are made for. */
export const credentialsApply = (repoUrl: string, { kind, host }: GitCredentials): boolean =>
  (kind === "token" ? httpUrl(repoUrl)?.host : sshHost(repoUrl)) === host

/** The parsed address, if it is http or https. */
export function httpUrl(text: string): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url?.protocol === "https:" || url?.protocol === "http:" ? url : undefined
}

/** The path of a repository of this machine, in an address or as it is; undefined for all others. */
export function localPath(text: string): string | undefined {
  if (text.startsWith("/")) return text
  if (!text.startsWith("file:///")) return undefined
  try {
    return fileURLToPath(text)
  } catch {
    // Such as `file:///a%2fb`, which is the path of nothing.
    return undefined
  }
}

/** The host of `ssh://git@host:22/a.git` or `git@host:a.git`, with its port unless that is 22. */
function sshHost(text: string): string | undefined {
  if (text.startsWith("ssh://")) {
    const url = URL.canParse(text) ? new URL(text) : undefined
    if (!url) return undefined
    return (url.port === "" || url.port === "22" ? url.hostname : url.host).toLowerCase()
  }
  return /^[\w.-]+@([\w.-]+):/.exec(text)?.[1]?.toLowerCase()
}
