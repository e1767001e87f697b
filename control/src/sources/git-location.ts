/** What git has to know to find code. Pure. */
import type { Secret } from "@superstep/toolkit/config/settings"

/** What an integration gives: who to be on one host. */
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
      /** In one of the forms that `ssh -i` reads, without a passphrase. */
      readonly privateKey: Secret
      /** Lines of a known_hosts file: no other key of the host is accepted. Null: the first that it shows is kept. */
      readonly knownHosts: string | null
    }

export interface GitLocation {
  readonly repoUrl: string
  /** A branch, `refs/tags/<tag>`, or a full commit id. */
  readonly ref: string
  readonly credentials?: GitCredentials
}

/** True when the credentials are for this repository: the same host, over the transport that they are made for. */
export const credentialsApply = (repoUrl: string, { kind, host }: GitCredentials): boolean =>
  (kind === "token" ? httpUrl(repoUrl)?.host : sshHost(repoUrl)) === host

/** The address, when it is one of http or https. */
export function httpUrl(text: string): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url?.protocol === "https:" || url?.protocol === "http:" ? url : undefined
}

/** `ssh://git@host:22/a.git` and `git@host:a.git`; the port is part of it unless it is 22. */
function sshHost(text: string): string | undefined {
  if (text.startsWith("ssh://")) {
    const url = URL.canParse(text) ? new URL(text) : undefined
    if (!url) return undefined
    return (url.port === "" || url.port === "22" ? url.hostname : url.host).toLowerCase()
  }
  return /^[\w.-]+@([\w.-]+):/.exec(text)?.[1]?.toLowerCase()
}
