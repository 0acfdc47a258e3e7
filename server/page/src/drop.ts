// Files that are dropped on the page: those on a collection are imported, others become one.
import { useEffect } from "preact/hooks";
import { hasCollection, whyLocked } from "./data/catalog.ts";
import { withTools } from "./lazy.tsx";
import { toast } from "./messages.tsx";
import { route } from "./route.ts";

/** Takes files that are dropped, for which the browser would leave the page. */
export function useFileDrop(): void {
  useEffect(() => {
    const onDrag = (event: DragEvent) => {
      const target = event.target as HTMLElement;
      if (!event.dataTransfer?.types.includes("Files") || target.closest("input[type=file]")) return;
      event.preventDefault();
      const [name = ""] = route.value.path,
        [file] = event.dataTransfer.files;
      if (event.type !== "drop" || !file) return;
      if (whyLocked.value) return void toast(whyLocked.value, { bad: true });
      void file
        .text()
        .then((text) =>
          withTools((tools) => (hasCollection(name) ? tools.showImport(name, text) : tools.showNewCollection(text))),
        );
    };
    addEventListener("dragover", onDrag);
    addEventListener("drop", onDrag);
    return () => {
      removeEventListener("dragover", onDrag);
      removeEventListener("drop", onDrag);
    };
  }, []);
}
