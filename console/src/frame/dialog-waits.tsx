/** In the place of a dialog whose code is on its way. Two dialogs that opened at the same moment would make each other inert. */
export const DialogWaits = () => <span data-dialog-waits hidden />

/** Whether a dialog is open, or is about to be. */
export const isDialogOpen = (): boolean =>
  document.querySelector(
    "[data-dialog-waits], [aria-modal=true], dialog[open], .react-aria-ModalOverlay, .dialog-overlay",
  ) !== null
