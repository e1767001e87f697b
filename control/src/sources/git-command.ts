/** The command lines and environments of git, as data. Nothing here runs anything. */
import { type GitCredentials, httpUrl } from "./git-location.js"

/** Variables of our own environment that git gets: for finding programs and for the proxies of a closed network. */
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

/** Replaces the home folder in which git would look for files. */
export interface GitHome {
  /** Empty: git's HTTP client would send the credentials of a `.netrc` in it. */
  readonly emptyFolder: string
  /** Stores the key that each host showed first. */
  readonly knownHosts: string
}

/** Files that exist while git runs. */
export interface SshFiles {
  readonly privateKey: string
  /** The accepted host keys; all others are rejected. Undefined: the first key that a host shows is stored and accepted. */
  readonly knownHosts?: string | undefined
}

/**
 * The environment of every git command. It reads no configuration file of the machine, uses no credentials of the operator,
 * asks no questions, and runs no hook, filter or submodule of the repository.
 * @param protocols  allowed transports, such as `["https", "ssh"]`; git refuses all others, also in redirects
 */
export function gitEnvironment(input: {
  readonly base: NodeJS.ProcessEnv
  readonly home: GitHome
  readonly protocols: readonly string[]
  readonly repoUrl: string
  readonly credentials?: GitCredentials | undefined
  readonly ssh?: SshFiles | undefined
  /** The only configuration file that it reads (`trusted-repository.ts`). */
  readonly trustFile?: string | undefined
}): Record<string, string> {
  const inherited = passedOn.flatMap((name) => {
    const value = input.base[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  return {
    ...Object.fromEntries(inherited),
    // `classifyGitFailure` parses messages in the C locale.
    LC_ALL: "C",
    HOME: input.home.emptyFolder,
    GIT_TERMINAL_PROMPT: "0",
    GIT_ASKPASS: "true",
    SSH_ASKPASS: "true",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: input.trustFile ?? "/dev/null",
    GIT_ALLOW_PROTOCOL: input.protocols.join(":"),
    GIT_LFS_SKIP_SMUDGE: "1",
    GIT_SSH_COMMAND: sshCommand(input.home.knownHosts, input.ssh),
    ...gitConfig([...safeConfig, ...credentialConfig(input.repoUrl, input.credentials)]),
  }
}

// ssh finds the operator's home without HOME. Users who name a repository must not get the operator's access to it, so only
// the integration's key is offered: none of `~/.ssh`, and none of an agent.
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

// The inner quotes are for ssh, the outer ones for the shell; ssh would expand a percent sign.
const quotedPath = (path: string): string => shellQuoted(`"${path.replaceAll("%", "%%")}"`)

// git passes the command to a shell.
const shellQuoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

type ConfigEntry = readonly [key: string, value: string]

const safeConfig: readonly ConfigEntry[] = [
  ["core.hooksPath", "/dev/null"],
  ["submodule.recurse", "false"],
  ["core.autocrlf", "false"],
  ["advice.detachedHead", "false"],
  ["gc.auto", "0"],
  // Larger files are never held in memory, which is limited.
  ["core.bigFileThreshold", "16m"],
  // A file for each fetched object would use up the disk's files.
  ["fetch.unpackLimit", "1"],
]

/** Configuration through the environment: unlike `-c`, it is in no argument list that other users can read. */
function gitConfig(entries: readonly ConfigEntry[]): Record<string, string> {
  const numbered = entries.flatMap(([key, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, key],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ])
  return { GIT_CONFIG_COUNT: String(entries.length), ...Object.fromEntries(numbered) }
}

/** The token as a header for its own host. A redirect could carry it elsewhere, so redirects are disabled with it. */
function credentialConfig(repoUrl: string, credentials: GitCredentials | undefined): ConfigEntry[] {
  const url = httpUrl(repoUrl)
  if (credentials?.kind !== "token" || url?.host !== credentials.host) return []
  return [
    [`http.${url.origin}/.extraHeader`, `Authorization: Basic ${basicOf(credentials)}`],
    ["http.followRedirects", "false"],
  ]
}

/** The value of HTTP Basic authentication: name and token, in base64. */
export const basicOf = ({ username, token }: Extract<GitCredentials, { kind: "token" }>): string =>
  Buffer.from(`${username}:${token.reveal()}`).toString("base64")

const fullSha = /^[0-9a-f]{40}$/

/** A validated ref. */
export type Ref =
  | { readonly kind: "sha"; readonly sha: string }
  | { readonly kind: "named"; readonly candidates: readonly string[] }

/**
 * Parses a ref. A branch has precedence over a tag of the same name.
 * @returns  undefined when git would refuse the name, or could treat it as an option
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

/**
 * Everything after `--` is an address or a name: git treats none of it as an option. Names alone do not limit what the host sends: of
 * branches and tags git asks for nothing else.
 * @param refs  none: all branches and tags
 */
export const lsRemoteArguments = (repoUrl: string, refs: readonly string[]): string[] => [
  "ls-remote",
  "--exit-code",
  ...(refs.every((ref) => /^refs\/(heads|tags)\//.test(ref)) ? ["--heads", "--tags"] : []),
  "--",
  repoUrl,
  ...refs.flatMap((ref) => [ref, `${ref}^{}`]),
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

/** Lists every file and folder of a commit with its size, for `treeMeter`. */
export const listArguments = (sha: string): string[] => ["ls-tree", "-r", "-t", "-l", "-z", "--full-tree", sha]

export interface CommitSize {
  readonly entries: number
  readonly bytes: number
}

// Enough for a note of what is missing in a build.
const mostRemembered = 1000
// A pointer has three lines: a version, a hash and a size.
const [smallestPointer, largestPointer] = [110, 200]

/**
 * Sums up what a commit consists of, from the output of `git ls-tree` as it arrives. The list of a hostile commit may be endless: a few
 * objects can name each other a million times.
 */
export function treeMeter(): {
  add(chunk: Buffer): CommitSize
  /** The folders of submodules. */
  readonly submodules: readonly string[]
  /** Files of the size of a pointer of Git LFS. */
  readonly maybePointers: readonly string[]
} {
  let rest = Buffer.alloc(0)
  let [entries, bytes] = [0, 0]
  const [submodules, maybePointers]: [string[], string[]] = [[], []]
  const remember = (list: string[], path: string) => list.length < mostRemembered && list.push(path)
  const add = (chunk: Buffer): CommitSize => {
    const all = Buffer.concat([rest, chunk])
    let begin = 0
    for (let end = all.indexOf(0); end !== -1; end = all.indexOf(0, begin)) {
      entries++
      const line = all.toString("utf8", begin, end)
      begin = end + 1
      // `<mode> <type> <id> <size, padded>`, a tab and the path. A folder and a submodule have no size.
      const tab = line.indexOf("\t")
      const [mode, , , text] = line.slice(0, tab).split(/ +/)
      const size = Number(text)
      if (size > 0) bytes += size
      if (mode === "160000") remember(submodules, line.slice(tab + 1))
      if (mode?.startsWith("100") && size >= smallestPointer && size <= largestPointer)
        remember(maybePointers, line.slice(tab + 1))
    }
    // A path that never ends: nothing needs the rest of it.
    rest = Buffer.from(all.subarray(begin, begin + longestEntryBytes))
    return { entries, bytes }
  }
  return { add, submodules, maybePointers }
}

// No system has longer paths.
const longestEntryBytes = 64 * 1024

/**
 * The commit in the output of `ls-remote`: that of the first candidate that exists, and for an annotated tag the commit it
 * points to (`refs/tags/v1^{}`), not the tag object.
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
