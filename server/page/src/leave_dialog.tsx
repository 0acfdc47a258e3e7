// Asks what becomes of changes that are not saved before the page goes elsewhere.
import { saveAll, unsavedNames, waiting } from "./route.ts";
import { Button, Dialog } from "./ui.tsx";

export function LeaveDialog() {
  const stay = () => {
    waiting.value = null;
  };
  const go = () => {
    const run = waiting.value;
    stay();
    run?.();
  };
  const save = async () => {
    if (await saveAll()) go();
    else stay(); // where the faults are shown
  };
  return (
    <Dialog title="Save your changes?" onClose={stay}>
      <h2>Save your changes?</h2>
      <p>Not saved: {unsavedNames().join(", ")}</p>
      <div class="row-of end">
        <Button onClick={stay}>Stay</Button>
        <span class="grow" />
        <Button kind="danger" onClick={go}>
          Leave without saving
        </Button>
        <Button kind="primary" autofocus onClick={() => void save()}>
          Save
        </Button>
      </div>
    </Dialog>
  );
}
