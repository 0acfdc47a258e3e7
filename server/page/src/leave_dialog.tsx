// Asks what becomes of changes that are not saved before the page goes elsewhere.
import { useState } from "preact/hooks";
import { saveAll, unsavedNames, waiting } from "./route.ts";
import { Button, Dialog } from "./ui.tsx";

export function LeaveDialog() {
  const [isSaving, setSaving] = useState(false);
  const names = unsavedNames();
  const stay = () => {
    waiting.value = null;
  };
  const go = () => {
    const run = waiting.value;
    stay();
    run?.();
  };
  const save = async () => {
    setSaving(true);
    if (await saveAll()) go();
    else stay(); // where the faults are shown
  };
  return (
    <Dialog title="Save your changes?" onClose={stay}>
      <h2>Save your changes?</h2>
      <p>
        {names.join(" and ")} {names.length === 1 ? "has" : "have"} changes that are not saved.
      </p>
      <div class="row-of end">
        <Button onClick={stay}>Stay</Button>
        <span class="grow" />
        <Button kind="danger" disabled={isSaving} onClick={go}>
          Leave without saving
        </Button>
        <Button kind="primary" autofocus disabled={isSaving} onClick={() => void save()}>
          {isSaving ? "Saving…" : "Save"}
        </Button>
      </div>
    </Dialog>
  );
}
