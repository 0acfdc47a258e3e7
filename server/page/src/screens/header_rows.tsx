// The headers of a request that is edited, each in a line with what is wrong with it.
import { Button } from "../ui.tsx";

export type Header = [name: string, value: string];

/** Headers that have an effect here, with values that they may have. */
const known: Record<string, string[]> = {
  Accept: ["application/json", "text/csv", "text/event-stream"],
  "Content-Type": ["application/json", "application/merge-patch+json", "application/json-patch+json", "text/csv"],
  "If-Match": ["*"],
  "If-None-Match": ["*"],
  "Pickup-Session": [],
  Prefer: [
    "return=minimal",
    "tx=rollback",
    "handling=strict",
    "delay=500",
    "code=503",
    "hold=page",
    "fault=connection-reset",
    "fault=lost-answer",
  ],
};

const isKnown = (name: string) => (other: string) => other.toLowerCase() === name.toLowerCase();

/** Returns why a header cannot be sent, or "". */
export function headerFault([name, value]: Header): string {
  try {
    if (name || value) new Headers([[name, value]]);
    return "";
  } catch {
    return /^[!#$%&'*+.^_`|~\w-]+$/.test(name)
      ? `“${value}” cannot be the value of a header.`
      : `“${name}” is not the name of a header: it has letters, digits and hyphens, and no spaces.`;
  }
}

interface HeaderRowsProps {
  headers: Header[];
  onChange: (headers: Header[]) => void;
}

export function HeaderRows({ headers, onChange }: HeaderRowsProps) {
  const rows: Header[] = headers.at(-1)?.join("") === "" ? headers : [...headers, ["", ""]]; // one is empty
  const change = (at: number, header: Header) => onChange(rows.map((row, i) => (i === at ? header : row)));
  return (
    <fieldset class="headers">
      <legend>Headers</legend>
      <datalist id="header-names">
        {Object.keys(known).map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      {rows.map((header, i) => {
        const [name, value] = header,
          fault = headerFault(header),
          values = known[Object.keys(known).find(isKnown(name)) ?? ""];
        const shared = {
          class: "code",
          autocomplete: "off",
          spellcheck: false,
          "aria-invalid": fault !== "",
          "aria-describedby": fault ? "header-wrong-" + i : undefined,
        };
        return (
          <div key={i}>
            <div class="row-of">
              <input
                {...shared}
                aria-label={"Name of header " + (i + 1)}
                list="header-names"
                placeholder={i === rows.length - 1 ? "Prefer" : ""}
                value={name}
                onInput={(event) => change(i, [event.currentTarget.value, value])}
              />
              <input
                {...shared}
                aria-label={"Value of header " + (i + 1)}
                list={"header-values-" + i}
                placeholder={i === rows.length - 1 ? "return=minimal" : ""}
                value={value}
                onInput={(event) => change(i, [name, event.currentTarget.value])}
              />
              <datalist id={"header-values-" + i}>
                {values?.map((text) => (
                  <option key={text} value={text} />
                ))}
              </datalist>
              <Button
                kind="quiet"
                icon="close"
                label={"Remove header " + (i + 1)}
                disabled={i === rows.length - 1}
                onClick={() => onChange(rows.filter((_, other) => other !== i))}
              />
            </div>
            {fault && (
              <p class="error" id={"header-wrong-" + i}>
                {fault}
              </p>
            )}
          </div>
        );
      })}
    </fieldset>
  );
}
