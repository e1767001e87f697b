/** How much space a thread takes in the database, compressed. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"

export interface Sizes {
  readonly count: number
  readonly bytes: number
}

export interface ChannelSizes {
  readonly channel: string
  readonly versions: number
  readonly bytes: number
}

export const sizeOfCheckpoints = async (db: Db, threadId: string): Promise<Sizes> =>
  (await db.row<Sizes>(sql`
    select count(*), coalesce(sum(pg_column_size(checkpoint) + pg_column_size(metadata)), 0)::bigint as bytes
    from checkpoints where thread_id = ${threadId}`)) ?? none

export const sizeOfWrites = async (db: Db, threadId: string): Promise<Sizes> =>
  (await db.row<Sizes>(sql`
    select count(*), coalesce(sum(pg_column_size(blob)), 0)::bigint as bytes
    from checkpoint_writes where thread_id = ${threadId}`)) ?? none

/** Sizes by channel name. Channels of the same name in different subgraphs are added up. */
export const sizeOfChannels = (db: Db, threadId: string): Promise<ChannelSizes[]> =>
  db.rows<ChannelSizes>(sql`
    select channel, count(*) as versions, coalesce(sum(pg_column_size(blob)), 0)::bigint as bytes
    from checkpoint_blobs where thread_id = ${threadId} group by channel order by channel`)

const none: Sizes = { count: 0, bytes: 0 }
