/** Of planted-faults.mjs, those that pairs of requests at the same moment should show (toolkit/src/testing/interleavings.ts). */

/** @param named  a regular expression, as in SUPERSTEP_PAIRS */
const pairs = (file, named) => ({ program: "pairs", args: [file], env: { SUPERSTEP_PAIRS: named } })

export const faultsOfPairs = [
  {
    name: "a deletion that waits for no creation",
    isQuick: true,
    what: "the deletion of an assistant with its threads does not wait for runs that are being created",
    changes: [
      {
        file: "server/src/migrations/functions/creation.sql",
        find: "  perform pg_advisory_xact_lock_shared(hashtext('superstep: runs of an assistant'), hashtext(_assistant_id::text));\n",
        replace: "",
      },
    ],
    campaign: pairs("server/dist/interleavings.test.js", "delete assistant and threads,add"),
  },
  {
    name: "a thread that is gone between two statements",
    isQuick: true,
    what: "a stream of the newer protocol is 404 when its thread comes into being, or goes, while it opens",
    changes: [
      {
        file: "server/src/thread-stream/follow.ts",
        find: "if (await streams.followed.follow(threadId, { forProtocol: true })) break",
        replace: "if (!(await streams.followed.follow(threadId, { forProtocol: true }))) notFound(threadId)\n    break",
      },
    ],
    campaign: pairs("server/dist/interleavings.test.js", "idle,delete thread,stream events"),
  },
]
