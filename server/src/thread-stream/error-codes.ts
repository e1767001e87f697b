/** The `error` of replies to commands of the stream protocol (v2), as `docs/errors.md` explains them. `not_supported` is among the server's. */
import type { ErrorEntry } from "@superstep/toolkit/errors/error-entry"

export const commandCodes = {
  invalid_argument: {
    http: [],
    what: "The command or one of its parameters cannot be used. Nothing was changed.",
    cause: "A missing or wrong field; `message` names every one. Also a thread or an assistant that does not exist.",
    next: "Correct what `message` names.",
  },
  unknown_command: {
    http: [],
    what: "The server has no such command.",
    cause: "A typing error in `method`, or a client that is newer than the server.",
    next: "Use a command that [streaming](streaming.md) lists.",
  },
  unknown_error: {
    http: [],
    what: "The command failed for another reason.",
    cause: "`message` has the reason; `internal error` is a bug or a fault of the server's machine.",
    next: "Follow `message`; for `internal error` see the log of the server.",
  },
  no_such_run: {
    http: [],
    what: "The thread has no such run.",
    cause: "A wrong id, or a run that was deleted.",
    next: "List the runs of the thread.",
  },
  no_such_subscription: {
    http: [],
    what: "The connection has no such subscription.",
    cause: "It was ended, or belongs to an earlier connection: subscriptions end with their connection.",
    next: "Subscribe again.",
  },
  no_such_namespace: {
    http: [],
    what: "The thread has no such namespace.",
    cause: "The subgraph has not run yet, or its name is wrong.",
    next: "Take the namespace from the thread's events.",
  },
  no_such_interrupt: {
    http: [],
    what: "The thread does not wait for this interrupt.",
    cause: "It was answered before, or the run went on without it.",
    next: "Read the thread's interrupts, and answer one of them.",
  },
  no_such_checkpoint: {
    http: [],
    what: "The thread has no such checkpoint.",
    cause: "A wrong id, or a checkpoint that was removed with its run.",
    next: "List the checkpoints of the thread (`state.listCheckpoints`).",
  },
  permission_denied: {
    http: [],
    what: "The caller may not execute this command.",
    cause: "A rule of the project's `auth` refuses it, or the key may only read.",
    next: "Use another key, or change the rules ([authentication](authentication.md)).",
  },
} as const satisfies Readonly<Record<string, ErrorEntry>>

export type CommandCodes = typeof commandCodes
