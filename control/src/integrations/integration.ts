/** Defines an integration: named credentials for one host. Pure. */

export interface Integration {
  readonly integration_id: string
  readonly workspace_id: string
  readonly kind: "git"
  readonly name: string
  /** `github.com` or `git.example.org:3000`. */
  readonly host: string
  readonly auth: "token" | "ssh_key"
  readonly username: string | null
  /** The public half of an ssh key, for storing at the host. */
  readonly ssh_public_key: string | null
  readonly created_at: Date
  readonly updated_at: Date
}

// GitHub's user name for tokens; GitLab, Gitea and Bitbucket's repository tokens accept any name.
export const defaultUsername = "x-access-token"

const hostName = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?$/i

/**
 * The host of an address or a bare host name, in lower case, with its port if it has one.
 * @returns  undefined when it is neither
 */
export function hostOf(address: string): string | undefined {
  const host = /^https?:\/\//i.test(address) && URL.canParse(address) ? new URL(address).host : address
  return host.length <= 255 && hostName.test(host) ? host.toLowerCase() : undefined
}
