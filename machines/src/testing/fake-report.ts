/** What a fake unit reports: the file that its variable FAKE_LOAD names. */
import { renameSync, writeFileSync } from "node:fs"

/** Replaces the file by a rename: a unit that reads half a file would crash. */
export function writeFakeReport(file: string, report: object): void {
  writeFileSync(`${file}.new`, JSON.stringify(report))
  renameSync(`${file}.new`, file)
}
