// Asks for confirmation before an action that cannot be undone or that changes many records.
import type { ComponentChildren } from "preact";
import { Button, Dialog } from "./ui.tsx";

interface ConfirmDialogProps {
  title: string;
  verb: string; // of the button that does it
  kind?: "primary" | "danger";
  onYes: () => void;
  onClose: () => void;
  children: ComponentChildren;
}

export function ConfirmDialog({ title, verb, kind = "danger", onYes, onClose, children }: ConfirmDialogProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <h2>{title}</h2>
      {children}
      <div class="row-of end">
        <Button onClick={onClose}>Cancel</Button>
        <Button
          kind={kind}
          onClick={() => {
            onClose();
            onYes();
          }}
        >
          {verb}
        </Button>
      </div>
    </Dialog>
  );
}
