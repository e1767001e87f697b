/** Faults that the simulation of the queue should find (planted-faults.mjs says what they consist of). */

const queue = (...args) => ({ program: "simulate queue", args })

export const faultsOfTheQueue = [
  {
    name: "a late checkpoint accepted",
    isQuick: true,
    what: "a checkpoint of an attempt that is over is accepted",
    changes: [
      {
        file: "server/src/migrations/functions/checkpoints.sql",
        find: "perform from runs r where r.run_id = _claim.run_id and r.claim_id = _claim.claim_id for update;",
        replace: "perform from runs r where r.run_id = _claim.run_id for update;",
      },
    ],
    campaign: queue("--seeds", "2000", "--from", "1"),
  },
  {
    name: "a lease judged by the server's own clock",
    isQuick: true,
    what: "a server reckons the time of the database from its own, and judges leases by it when the other has jumped",
    changes: [
      {
        file: "server/src/runs/claim-loop.ts",
        find: "this.#contact.reached(nowMs)",
        replace: "this.#contact.reached((this.base ??= nowMs - this.#clock.now()) + this.#clock.now())",
      },
    ],
    campaign: queue("--seeds", "2000", "--from", "1"),
  },
  {
    name: "no question without a message",
    isQuick: true,
    what: "the regular look at the queue claims nothing: a run whose message was lost waits for the next message",
    changes: [
      {
        file: "server/src/runs/claim-loop.ts",
        find: "      this.lookForAll()\n    } catch",
        replace: "    } catch",
      },
    ],
    campaign: queue("--seeds", "2000", "--from", "1"),
  },
  {
    name: "a claim that executes given back",
    isQuick: true,
    what: "a server does not look which claims it executes, and gives them back as abandoned once their own time is over",
    changes: [
      {
        file: "server/src/runs/claim-loop.ts",
        find: "heldHere: executor.heldClaims()",
        replace: "heldHere: executor.heldClaims().slice(0, 0)",
      },
      {
        file: "server/src/runs/claim-loop.ts",
        find: 'if (ending === "abandoned" && executor.heldClaims().includes(claim.claimId)) continue',
        replace: "void executor",
      },
    ],
    campaign: queue("--seeds", "2000", "--from", "1"),
  },
]
