/** Another request that comes after a statement of a request that a test names. All pairs of requests, at every statement: ../interleavings.test.ts. */
import type { Database } from "@superstep/toolkit/db/database"
import type { Sql } from "@superstep/toolkit/db/sql"

export class AfterStatement {
  #next: { readonly after: RegExp; readonly work: () => Promise<unknown> } | undefined

  /** Does the work once, when the next statement that matches has been answered, before its answer is used. */
  after(statement: RegExp, work: () => Promise<unknown>): void {
    this.#next = { after: statement, work }
  }

  /** Whether the work has been done: else the test has aimed at nothing. */
  get isDone(): boolean {
    return this.#next === undefined
  }

  /** A database for one server's routes (`wrapDb`). */
  readonly database = (db: Database): Database => ({
    ...db,
    row: async <Row extends object>(statement: Sql) => this.#answered(statement, await db.row<Row>(statement)),
    rows: async <Row extends object>(statement: Sql) => this.#answered(statement, await db.rows<Row>(statement)),
  })

  async #answered<Answer>(statement: Sql, answer: Answer): Promise<Answer> {
    const next = this.#next
    if (next?.after.test(statement.render().text)) {
      this.#next = undefined
      await next.work()
    }
    return answer
  }
}
