/**
 * The routing table that the control plane sends to each edge; `edge/README.md` describes it.
 * Generated from `protocol/edge/table.schema.json` by `npm run generate -w protocol`; a test compares them.
 */

export type Id =
  | string

/** In lower-case hex. */
export type Sha256 =
  | string

/** In lower case. */
export type HostName =
  | string

/** As browsers name the origin of a page. */
export type Origin =
  | string

/** The name of a header or a method. */
export type HeaderWord =
  | string

export interface Table {
  /** Rises with each change. */
  readonly generation: number
  /** No two have the same name, or a host name in common. */
  readonly routes: readonly Route[]
  /** Where the console is served: its pages may call every route, whatever the project's own rules say. */
  readonly console_origins?: readonly Origin[]
  /** What is answered to a certificate authority that verifies a host name (RFC 8555 §8.3). */
  readonly challenges?: readonly Challenge[]
}

export interface Route {
  /** Unreserved characters of a URL only: a name is compared as it appears in the path, and is never decoded. */
  readonly name: string
  readonly deployment_id: Id
  readonly revision_id: Id
  /** SHA-256 of each key that may run the agent. An empty list admits no key. */
  readonly keys: readonly Sha256[]
  /** SHA-256 of each key that may only read. A table of an older release lacks this list and has all keys in `keys`. */
  readonly read_keys?: readonly Sha256[]
  /** The hash of each person who may run the agent, but not answer what it asks. An edge of an older release drops the list, and lets none of them in. */
  readonly no_approval_keys?: readonly Sha256[]
  /** Verifies agent tokens of this deployment: 32 bytes in hex. Without it none is accepted. */
  readonly token_key?: string
  /** serving: requests go to its units; held: they wait until it is awake; paused: they are refused; full: it sleeps and there is no room to wake it, so they are refused. */
  readonly state: "serving" | "held" | "paused" | "full"
  /** Requests above this rate are refused; without it there is no limit. */
  readonly max_requests_per_second?: number
  /** How preflights are answered by the edge; without it the units answer them. */
  readonly cors?: PreflightRule
  readonly units: readonly Unit[]
  /** Host names whose requests are all for this route. */
  readonly host_names?: readonly RoutedHostName[]
  /** Used when none of `units` can be reached: the units that served before, while the new ones are watched. */
  readonly standby: readonly Unit[]
}

export interface Unit {
  readonly unit_id: Id
  readonly address: Address
  /** Used as a header's value. */
  readonly token: string
}

/** `unix:<path>` or `http://<host>:<port>`. */
export type Address =
  | string

export interface RoutedHostName {
  readonly name: HostName
  /** Names the certificate's file; without it callers get the operator's certificate. */
  readonly certificate?: Sha256
}

/** Everything that determines the answer to a preflight. */
export interface PreflightRule {
  /** Pages of these origins may call; null: of all origins, and the answer names none. */
  readonly origins: readonly Origin[] | null
  readonly methods: readonly HeaderWord[]
  /** Empty: those that the page requests. */
  readonly headers: readonly HeaderWord[]
  /** Headers of a reply that a page may read. */
  readonly exposed: readonly HeaderWord[]
  /** Whether a page may send cookies. */
  readonly credentials: boolean
  /** How long a browser may cache the answer; null: the browser's default. */
  readonly max_age_seconds: number | null
}

export interface Challenge {
  readonly host_name: HostName
  readonly token: string
  readonly key_authorization: string
}
