/**
 * Messages between the servers of one database: look for a waiting run, and stop a running one.
 *
 * M1 When a run becomes ready, one server is woken: this one if it may execute the run and has a free slot, else one other
 *    server that has one (table `servers`). A single server sends no notifications.
 * M2 Messages are hints, sent after the commit that they are about (toolkit/src/db/hints.ts). If one is lost, the claim
 *    loop's regular poll or the renewal of its lease finds the change.
 * M3 A server that is woken without a free slot writes this to its row, then forwards the message. So a message is
 *    forwarded at most once per server.
 * M4 A server has one lease, in its row of the table `servers`. Its claims are held while the lease is. No transaction of a run locks
 *    this row, so nothing that happens to one run costs another one its claim.
 */
import type { Database, Db } from "@superstep/toolkit/db/database"
import type { Hints } from "@superstep/toolkit/db/hints"
import type { Subscription } from "@superstep/toolkit/db/listen"
import type { Log } from "@superstep/toolkit/log/log"
import { type Clock, realClock } from "@superstep/toolkit/time/clock"
import { countOtherServers, findServerWithRoom, removeServer, renewServer } from "./queries.js"
import {
  type Claimer,
  channelOf,
  messageText,
  parseMessage,
  type Room,
  type StoppingRun,
  type WaitingRun,
} from "./server.js"

export interface PeersOptions {
  readonly db: Database
  readonly log: Log
  readonly hints: Pick<Hints, "send">
  readonly self: Claimer
  readonly clock?: Clock
}

/** The actions that messages trigger in this server. */
export interface LocalServer {
  /** Claims waiting runs. Calls `passOn` if it has no free slot for them. */
  look(kind: Pick<WaitingRun, "runsAlone">): void
  cancel(runId: string): void
  room(): Room
  /** Called when messages may have been lost: checks for all changes that messages announce. */
  lookForAll(): void
}

export class Peers {
  readonly #options: PeersOptions
  readonly #clock: Clock
  #local: LocalServer | undefined
  #subscriptions: Subscription[] = []
  /** Number of other servers at the last refresh. */
  #others = 0
  /** The content of this server's row, and when it was written, by the clock. */
  #written: { readonly room: Room; readonly at: number } | undefined
  readonly #waiting = new Map<string, WaitingRun>()
  #choosing: Promise<void> | undefined
  #hasLeft = false

  constructor(options: PeersOptions) {
    this.#options = options
    this.#clock = options.clock ?? realClock
  }

  /** Starts listening for messages. */
  async start(local: LocalServer): Promise<void> {
    const { db, self } = this.#options
    this.#local = local
    const all = () => local.lookForAll()
    this.#subscriptions = [
      await db.listen(channelOf(self.serverId), (text) => this.#hear(text), all),
      await db.listen("serving_changed", all),
    ]
  }

  /** Wakes this server or one other for a run that has become ready (M1). */
  runWaits(run: WaitingRun): void {
    const { revisionId } = this.#options.self
    const mayExecute = revisionId === null || run.revisionId === null || run.revisionId === revisionId
    if (mayExecute && this.#local) this.#local.look(run)
    else this.#wakeOther(run)
  }

  /** Asks the server that executes a run to stop it. */
  stopRun({ runId, serverId }: StoppingRun): void {
    const { hints, self } = this.#options
    if (serverId === self.serverId) this.#local?.cancel(runId)
    else hints.send(channelOf(serverId), messageText({ kind: "cancel", runId }))
  }

  /** Forwards a message to another server, because this one has no free slot (M3). */
  passOn({ runsAlone }: Pick<WaitingRun, "runsAlone">): void {
    this.#wakeOther({ revisionId: this.#options.self.revisionId, runsAlone })
  }

  /**
   * Updates this server's row when it is old, and counts the other servers. Call it every few seconds.
   * @param db  a connection that does not wait for the busy pool
   */
  async look(db: Db): Promise<void> {
    if (this.#hasLeft) return
    const { self } = this.#options
    // Two refreshes may fail before the server counts as gone.
    const isOld = this.#written === undefined || this.#clock.now() - this.#written.at > self.leaseMs / 3
    if (isOld || !isSameRoom(this.#room(), this.#written?.room)) await this.renew(db)
    this.#others = await countOtherServers(db, self.serverId)
  }

  /**
   * Renews the lease of this server: its claims are held for that long (M4). The row is locked by nothing else for longer than a statement.
   * @param db  a connection that does not wait for the busy pool
   */
  async renew(db: Db): Promise<void> {
    const room = this.#room()
    await renewServer(db, this.#options.self, room)
    this.#written = { room, at: this.#clock.now() }
  }

  /** From now on others do not wake this server for runs. It still holds its claims, and receives messages to stop runs. */
  async leave(): Promise<void> {
    this.#hasLeft = true
    const { db, log } = this.#options
    await this.renew(db).catch((err: unknown) => log.debug({ err }, "other servers may still wake this one"))
  }

  /** Removes this server's row. Call it when it holds no claims any more. */
  async close(): Promise<void> {
    const { db, self, log } = this.#options
    await Promise.all(this.#subscriptions.map((subscription) => subscription.close()))
    await this.#choosing
    await removeServer(db, self.serverId).catch((err: unknown) => log.debug({ err }, "a server's row was not removed"))
  }

  #hear(text: string): void {
    const message = parseMessage(text)
    if (message?.kind === "look") this.#local?.look(message)
    if (message?.kind === "cancel") this.#local?.cancel(message.runId)
  }

  #room(): Room {
    return (this.#hasLeft ? undefined : this.#local?.room()) ?? noRoom
  }

  #wakeOther(run: WaitingRun): void {
    if (this.#others === 0) return
    // Equal entries are merged, since one message serves them all.
    this.#waiting.set(JSON.stringify([run.revisionId, run.runsAlone]), run)
    this.#choose()
  }

  #choose(): void {
    this.#choosing ??= this.#wakeOthers().finally(() => {
      this.#choosing = undefined
      // A run may have been added in the meantime.
      if (this.#waiting.size > 0) this.#choose()
    })
  }

  async #wakeOthers(): Promise<void> {
    const { db, hints, self, log } = this.#options
    try {
      for (const [key, run] of this.#waiting) {
        this.#waiting.delete(key)
        await this.#correctRow(run)
        const serverId = await findServerWithRoom(db, run, self.serverId)
        if (serverId !== undefined) hints.send(channelOf(serverId), messageText({ kind: "look", ...run }))
      }
    } catch (err) {
      this.#waiting.clear()
      log.debug({ err }, "no other server was woken for a run")
    }
  }

  /** Updates the row of a server that has become full since its last refresh. */
  async #correctRow({ runsAlone }: WaitingRun): Promise<void> {
    const isFull = (one: Room) => (runsAlone ? one.freeSoloSlots : one.freeSlots) === 0
    if (!this.#written || isFull(this.#written.room) || !isFull(this.#room())) return
    await this.renew(this.#options.db)
  }
}

const noRoom: Room = { freeSlots: 0, freeSoloSlots: 0 }

/** Other servers only check whether a slot is free. */
const isSameRoom = (one: Room, other: Room | undefined): boolean =>
  other !== undefined && one.freeSlots > 0 === other.freeSlots > 0 && one.freeSoloSlots > 0 === other.freeSoloSlots > 0
