/** The files that go with the next message. */
import { useRef, useState } from "react"
import { Button } from "../frame/button.js"
import { Paperclip, X } from "../frame/icons.js"
import { type ContentBlock, readAttachment } from "../messages/attachments.js"

export interface AttachedFile {
  readonly key: number
  readonly name: string
  readonly block: ContentBlock
}

/** @param onError  tells why a file was not attached; undefined when one is tried again */
export function useAttachments(onError: (error: unknown) => void) {
  const [files, setFiles] = useState<readonly AttachedFile[]>([])
  const [filesBeingRead, setFilesBeingRead] = useState(0)
  const count = useRef(0)
  const add = (given: Iterable<File>) => {
    onError(undefined)
    for (const file of given) {
      const key = ++count.current
      setFilesBeingRead((present) => present + 1)
      readAttachment(file)
        .then((block) => setFiles((present) => [...present, { key, name: file.name, block }]), onError)
        .finally(() => setFilesBeingRead((present) => present - 1))
    }
  }
  return {
    files,
    /** Whether files that were added are not among `files` yet. */
    isReading: filesBeingRead > 0,
    add,
    remove: (key: number) => setFiles((present) => present.filter((file) => file.key !== key)),
    clear: () => setFiles([]),
    /** Puts files back, before those that were added meanwhile. */
    putBack: (earlier: readonly AttachedFile[]) => setFiles((present) => [...earlier, ...present]),
  }
}

interface AttachedFilesProps {
  readonly files: readonly AttachedFile[]
  readonly onRemove: (key: number) => void
}

export function AttachedFiles({ files, onRemove }: AttachedFilesProps) {
  if (files.length === 0) return null
  return (
    <ul className="attached" aria-label="Attached files">
      {files.map(({ key, name, block }) => (
        <li key={key} className="attached-file">
          {isImage(block) ? <img src={block.image_url.url} alt="" /> : <Paperclip size={14} aria-hidden />}
          <span>{name}</span>
          <Button look="quiet" label={`Remove ${name}`} onPress={() => onRemove(key)}>
            <X size={13} aria-hidden />
          </Button>
        </li>
      ))}
    </ul>
  )
}

const isImage = (block: ContentBlock): block is { image_url: { url: string } } => block.type === "image_url"

interface AttachButtonProps {
  readonly disabledBecause: string | undefined
  readonly onFiles: (files: Iterable<File>) => void
}

export function AttachButton({ disabledBecause, onFiles }: AttachButtonProps) {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <Button
        look="quiet"
        label="Attach files"
        tip="Attach images or other files. They can also be pasted, or dropped here."
        disabledBecause={disabledBecause}
        onPress={() => input.current?.click()}
      >
        <Paperclip size={16} aria-hidden />
      </Button>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Files of the message"
        onChange={({ target }) => {
          onFiles([...(target.files ?? [])])
          // The same file can be chosen again after it was removed.
          target.value = ""
        }}
      />
    </>
  )
}
