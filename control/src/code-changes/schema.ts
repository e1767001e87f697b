/** The format of a comparison in a reply. */
import { z } from "@hono/zod-openapi"
import { type CodeChanges, codeChangeLimits, omissions } from "./changed-file.js"

export const codeChangesReply = z
  .object({
    files: z
      .array(
        z.object({
          path: z.string(),
          change: z.enum(["added", "removed", "changed"]),
          size_before: z.int().nullable().openapi({ description: "in bytes; null for a file that was added" }),
          size_after: z.int().nullable().openapi({ description: "in bytes; null for a file that was removed" }),
          omitted: z.enum(omissions).nullable().openapi({
            description:
              "why it has no diff: it is binary or a link, has more than 100 kB, may hold secrets by its name or content, or other files have used up the limits",
          }),
          diff: z.string().nullable().openapi({
            description: "hunks of a unified diff, without values of the secrets; empty when only its mode changed",
          }),
        }),
      )
      .openapi({ description: `in the order of their paths, at most ${codeChangeLimits.files}` }),
    total: z.int().openapi({ description: "how many files changed" }),
  })
  .openapi("CodeChanges")

export const renderCodeChanges = ({ files, total }: CodeChanges): z.input<typeof codeChangesReply> => ({
  files: files.map(({ sizeBefore, sizeAfter, ...file }) => ({
    ...file,
    size_before: sizeBefore,
    size_after: sizeAfter,
  })),
  total,
})
