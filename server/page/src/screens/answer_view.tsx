// What came back for a request: in the log, and after it was sent.
import type { Problem } from "../data/api.ts";
import { layOut } from "../data/json.ts";
import { Icon } from "../icons.tsx";
import { placeOf } from "../ui.tsx";

export interface AnswerParts {
  simulated?: string | undefined; // what was, as in delay=300, code=503
  problem?: Problem | undefined;
  body?: string | undefined;
  note?: string;
  title?: string; // of the body
}

const shown = 200_000; // characters of a body

export function AnswerView({ simulated, problem, body, note = "", title = "Answered" }: AnswerParts) {
  return (
    <>
      {simulated && (
        <p class="note">
          <Icon name="flask" size={14} />
          Simulated: {simulated}
        </p>
      )}
      {problem && (
        <div class="wrong">
          <Icon name="alert" size={18} />
          <div>
            <strong>{problem.title}</strong>
            <p>{problem.detail}</p>
            <ul>
              {problem.errors?.map((fault, i) => (
                <li key={i}>
                  <span class="code">{placeOf(fault)}</span> {fault.detail}
                </li>
              ))}
            </ul>
          </div>
        </div>
      )}
      {body && <Body title={title} note={note} text={body} />}
    </>
  );
}

/** A body with its title. */
export function Body({ title, note, text }: { title: string; note: string; text: string }) {
  return (
    <>
      <h3>
        {title} <span class="dim">{note}</span>
      </h3>
      <pre class="code" tabIndex={0}>
        {layOut(text).slice(0, shown)}
      </pre>
    </>
  );
}

/** Names with their values. */
export function Pairs({ list }: { list: Iterable<[name: string, value: string]> }) {
  return (
    <dl class="pairs">
      {[...list].map(([name, value], i) => (
        <div key={i}>
          <dt class="code">{name}</dt>
          <dd class="code">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
