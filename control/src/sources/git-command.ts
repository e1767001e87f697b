/** How git is called: argument lists and environments as data. Nothing here runs anything. */
import { type GitCredentials, httpUrl } from "./git-location.js"

/** What of our own environment git may see: how to find programs, and how to get out of a closed network. */
const passedOn = [
  "PATH",
  "LANG",
  "TZ",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  "GIT_SSL_CAINFO",
  "http_proxy",
  "https_proxy",
  "no_proxy",
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "NO_PROXY",
]

/** Where git finds what it would look for in the home of whoever runs the platform. */
export interface GitHome {
  /** Empty: git's HTTP client would send what a `.netrc` in it says. */
  readonly emptyFolder: string
  /** Remembers the key that a host showed first. */
  readonly knownHosts: string
}

/** Files that exist while git runs. */
export interface SshFiles {
  readonly privateKey: string
  /** The host keys that are accepted, no other. Undefined: as without a key. */
  readonly knownHosts?: string | undefined
}

/**
 * The environment of every git command. No configuration file of the machine is read, no credentials of the operator
 * are used, nobody is asked for anything, and no hook, filter or submodule of the repository runs.
 * @param protocols  allowed transports, such as `["https", "ssh"]`; git refuses every other, redirects included
 */
export function gitEnvironment(input: {
  readonly base: NodeJS.ProcessEnv
  readonly home: GitHome
  readonly protocols: readonly string[]
  readonly repoUrl: string
  readonly credentials?: GitCredentials | undefined
  readonly ssh?: SshFiles | undefined
}): Record<string, string> {
  const inherited = passedOn.flatMap((name) => {
    const value = input.base[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  return {
    ...Object.fromEntries(inherited),
    // The messages that `classifyGitFailure` reads are those of the C locale.
    LC_ALL: "C",
    HOME: input.home.emptyFolder,
    GIT_TERMINAL_PROMPT: "0",
    GIT_ASKPASS: "true",
    SSH_ASKPASS: "true",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_ALLOW_PROTOCOL: input.protocols.join(":"),
    GIT_LFS_SKIP_SMUDGE: "1",
    GIT_SSH_COMMAND: sshCommand(input.home.knownHosts, input.ssh),
    ...gitConfig([...safeConfig, ...credentialConfig(input.repoUrl, input.credentials)]),
  }
}

// ssh finds the operator's home without HOME. Whoever may name a repository must not reach with the operator's keys
// what they cannot reach themselves, so no key is offered but the integration's: not those of `~/.ssh`, not an agent's.
function sshCommand(knownHosts: string, ssh: SshFiles | undefined): string {
  const identity = ssh ? quotedPath(ssh.privateKey) : "none"
  const hostKeys = ssh?.knownHosts
    ? `-oStrictHostKeyChecking=yes -oGlobalKnownHostsFile=/dev/null -oUserKnownHostsFile=${quotedPath(ssh.knownHosts)}`
    : `-oStrictHostKeyChecking=accept-new -oUserKnownHostsFile=${quotedPath(knownHosts)}`
  return (
    "ssh -F /dev/null -oBatchMode=yes -oIdentitiesOnly=yes -oIdentityAgent=none " +
    `-oIdentityFile=${identity} ${hostKeys}`
  )
}

// The inner quotes are ssh's, the outer ones the shell's; a percent sign would be one of ssh's own words.
const quotedPath = (path: string): string => shellQuoted(`"${path.replaceAll("%", "%%")}"`)

// git hands the command to a shell.
const shellQuoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

type ConfigEntry = readonly [key: string, value: string]

const safeConfig: readonly ConfigEntry[] = [
  ["core.hooksPath", "/dev/null"],
  ["submodule.recurse", "false"],
  ["core.autocrlf", "false"],
  ["advice.detachedHead", "false"],
  ["gc.auto", "0"],
]

/** Configuration through the environment: unlike `-c`, it is in no argument list that other users can read. */
function gitConfig(entries: readonly ConfigEntry[]): Record<string, string> {
  const numbered = entries.flatMap(([key, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, key],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ])
  return { GIT_CONFIG_COUNT: String(entries.length), ...Object.fromEntries(numbered) }
}

/** The token as a header for its own host. A redirect could carry it elsewhere, so redirects are off with it. */
function credentialConfig(repoUrl: string, credentials: GitCredentials | undefined): ConfigEntry[] {
  const url = httpUrl(repoUrl)
  if (credentials?.kind !== "token" || url?.host !== credentials.host) return []
  return [
    [`http.${url.origin}/.extraHeader`, `Authorization: Basic ${basicOf(credentials)}`],
    ["http.followRedirects", "false"],
  ]
}

/** What HTTP calls Basic: name and token, in base64. */
export const basicOf = ({ username, token }: Extract<GitCredentials, { kind: "token" }>): string =>
  Buffer.from(`${username}:${token.reveal()}`).toString("base64")

const fullSha = /^[0-9a-f]{40}$/

/** A ref as a person gives it, once it is known to be harmless. */
export type Ref =
  | { readonly kind: "sha"; readonly sha: string }
  | { readonly kind: "named"; readonly candidates: readonly string[] }

/**
 * Reads a ref. A branch is looked for before a tag of the same name.
 * @returns undefined when git would refuse the name, or could take it for an option
 * @see https://git-scm.com/docs/git-check-ref-format
 */
export function parseRef(text: string): Ref | undefined {
  if (fullSha.test(text)) return { kind: "sha", sha: text }
  const isControl = [...text].some((character) => character.charCodeAt(0) < 32 || character.charCodeAt(0) === 127)
  if (isControl || text === "" || text === "@" || text.length > 250) return undefined
  if (/^[-/]|[/.]$|\.\.|@\{|\/\/|[ ~^:?*[\\]|\.lock(\/|$)|(^|\/)\./.test(text)) return undefined
  const candidates = text.startsWith("refs/") ? [text] : [`refs/heads/${text}`, `refs/tags/${text}`]
  return { kind: "named", candidates }
}

/** Everything after `--` is an address or a name: git takes none of it for an option. */
export const lsRemoteArguments = (repoUrl: string, candidates: readonly string[]): string[] => [
  "ls-remote",
  "--exit-code",
  "--",
  repoUrl,
  ...candidates.flatMap((ref) => [ref, `${ref}^{}`]),
]

export const fetchArguments = (repoUrl: string, what: string): string[] => [
  "fetch",
  "--quiet",
  "--depth=1",
  "--no-tags",
  "--no-recurse-submodules",
  "--",
  repoUrl,
  what,
]

/**
 * The commit that `ls-remote` names: the first candidate that exists, and for an annotated tag the commit below it
 * (`refs/tags/v1^{}`), not the tag object.
 */
export function commitOf(output: string, candidates: readonly string[]): string | undefined {
  const found = new Map(
    output.split("\n").flatMap((line) => {
      const [sha, ref] = line.split("\t")
      return sha && ref ? [[ref, sha] as const] : []
    }),
  )
  for (const ref of candidates) {
    const sha = found.get(`${ref}^{}`) ?? found.get(ref)
    if (sha) return sha
  }
  return undefined
}
