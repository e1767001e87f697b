/** The error codes of the edge's own replies, as `docs/errors.md` explains them. */
import type { ErrorEntry } from "@superstep/toolkit/errors/error-entry"

export const edgeCodes = {
  https_required: {
    http: [403],
    what: "The agent accepts requests over HTTPS only.",
    cause: "An address with `http://` for a host name that has a certificate.",
    next: "Use `https://`, and replace a key that was sent without encryption (`superstep keys`).",
  },
  paused: {
    http: [409, 503],
    what: "The deployment is paused by its owner. 409: a request of the control plane needs a running deployment.",
    cause: "`superstep pause`, the console or the API.",
    next: "Resume it: `superstep resume <name>`. A retry does not help.",
  },
  waking: {
    http: [503],
    what: "The deployment sleeps, and did not wake up in time for this request, which was not executed.",
    cause: "Graphs that load slowly, a busy machine, or very many requests at once for an agent that sleeps.",
    next: "Send the request again after the seconds of the header `Retry-After`. To keep the agent awake, set its `min_scale` to 1.",
  },
  rate_limited: {
    http: [429],
    what: "The deployment gets more requests per second than it accepts.",
    cause: "A client in a loop, or more users than the limit was made for.",
    next: "Send the request again after the seconds of the header `Retry-After`, or let the operator raise `SUPERSTEP_REQUESTS_PER_SECOND`.",
  },
  no_successor: {
    http: [409],
    what: "An edge that is one of several was asked to hand its socket over.",
    cause: "Only an edge that the control plane started itself has a successor.",
    next: "Start another edge beside it, then stop this one.",
  },
  stale_generation: {
    http: [409],
    what: "The edge has a newer table of routes than the one that was sent.",
    cause: "A control plane that has lost its place to another one.",
    next: "Nothing. If it repeats, check that one control plane only uses this edge.",
  },
  scope_missing: {
    http: [403],
    what: "The key may not do this.",
    cause: "The key was created with a smaller scope, such as `read`.",
    next: "Use a key with the scope that `detail` names: `read`, `run`, `deploy` or `admin`.",
  },
  capacity: {
    http: [503],
    what: "The platform has no room to start this agent server. As a reply of the edge: the deployment sleeps and cannot be started now.",
    cause:
      "All database connections, all users for deployments, or all memory of the machine are given to other agents.",
    next: "Pause or delete what is not used, let it sleep, or give Postgres a higher max_connections.",
  },
} as const satisfies Readonly<Record<string, ErrorEntry>>

export type EdgeCodes = typeof edgeCodes

declare module "@superstep/toolkit/errors/codes" {
  interface ErrorCodes extends EdgeCodes {}
}
