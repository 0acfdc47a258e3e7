// Asks which answer requests get in place of their own.
import { useEffect, useState } from "preact/hooks";
import { readText } from "../data/api.ts";
import { jsonFault, layOut, parse } from "../data/json.ts";
import type { Rule } from "../data/simulation.ts";
import { closeDialog, dialog } from "../dialogs.ts";
import { JSONInput } from "../record/json_input.tsx";
import { Button, Dialog, ErrorBox } from "../ui.tsx";

interface AnswerOptions {
  title: string;
  help: string;
  verb: string; // of the button
  code: number; // at first
  body?: string;
  path: string; // of the resource that is the body at first, or ""
  run: (answer: Rule) => Promise<unknown>;
}

export function showAnswer(options: AnswerOptions): void {
  dialog.value = <AnswerDialog {...options} />;
}

const usual = [200, 201, 204, 400, 401, 403, 404, 409, 412, 422, 429, 500, 502, 503];

function AnswerDialog({ title, help, verb, code: first, body: known = "", path, run }: AnswerOptions) {
  const [code, setCode] = useState(String(first)),
    [body, setBody] = useState(layOut(known)),
    [error, setError] = useState<unknown>(null);
  useEffect(() => {
    const show = (text: string) => setBody((now) => (now === layOut(known) ? layOut(text) : now)); // not if edited
    if (path) readText(path).then(show, () => {});
  }, []);
  const fault = jsonFault(body);
  const submit = async () => {
    if (fault) return;
    const isShort = body.trim() === "" && Number(code) >= 400; // a problem document is made
    try {
      await run({ code: Number(code), ...(!isShort && { body: parse(body.trim() || "null") as unknown }) });
      closeDialog();
    } catch (e) {
      setError(e);
    }
  };
  return (
    <Dialog title={title} onClose={closeDialog}>
      <h2>{title}</h2>
      <form
        class="form"
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void submit();
        }}
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <p class="dim">{help}</p>
        <div class="field">
          <label for="answer-code">Status</label>
          <input
            id="answer-code"
            autofocus
            inputmode="numeric"
            list="answer-codes"
            autocomplete="off"
            value={code}
            onFocus={(event) => event.currentTarget.select()}
            onInput={(event) => setCode(event.currentTarget.value)}
          />
          <datalist id="answer-codes">
            {usual.map((n) => (
              <option key={n} value={n} />
            ))}
          </datalist>
        </div>
        <div class="field">
          <label for="answer-body">Body</label>
          <JSONInput
            id="answer-body"
            label="Body"
            value={body}
            faults={[]}
            isInvalid={fault !== ""}
            onInput={setBody}
          />
          {fault && <p class="error">{fault}</p>}
        </div>
        {error !== null && <ErrorBox error={error} title="It was refused" />}
        <div class="row-of end">
          <Button onClick={closeDialog}>Cancel</Button>
          <Button kind="primary" type="submit">
            {verb}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
