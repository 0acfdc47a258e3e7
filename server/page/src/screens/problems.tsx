// What is wrong: a file that does not parse, rules that cannot be used, edits that have
// undone what clients had written, and records that break the rules.
import { useEffect } from "preact/hooks";
import { ask, enterSession, get, pathOf, session, type Schemas } from "../data/api.ts";
import { isReadOnly, shapeFor, status } from "../data/catalog.ts";
import {
  dismissEdit,
  edits,
  findingCount,
  findings,
  findingsError,
  loadFindings,
  memberNames,
  putBack,
  type Finding,
} from "../data/findings.ts";
import { Icon } from "../icons.tsx";
import { pointerNames, stringify } from "../data/json.ts";
import { broken } from "../data/live.ts";
import { toastError } from "../messages.tsx";
import { href } from "../route.ts";
import { fieldOf } from "../data/schema.ts";
import { changeRecords, type Operation } from "../data/transaction.ts";
import { Ago, Button, Skeleton, count, Empty, ErrorBox, formatCount } from "../ui.tsx";
import { toastUndo } from "../data/undo.ts";
import { WriteButton } from "../write_button.tsx";

type SourceFile = Schemas["SourceFile"];

const shown = 100; // findings of a kind

/** The problems are the file's: a session, whose records a correction would change, has none. */
export function Problems() {
  if (!session.value) return <FileProblems />;
  return (
    <main class="screen" aria-labelledby="title">
      <h1 id="title">Problems</h1>
      <Empty icon="layers" title={"This is the session " + session.value}>
        <p>The problems are those of the file. Leave the session to see them.</p>
        <Button onClick={() => enterSession("")}>Leave</Button>
      </Empty>
    </main>
  );
}

function FileProblems() {
  useEffect(() => void loadFindings(), []);
  const list = findings.value,
    total = findingCount.value,
    all = total + (broken.value ? 1 : 0),
    error = findingsError.value;
  const rules = status.value?.rules,
    file = status.value?.file,
    shownAbove = rules?.state === "broken" ? rules.name : "";
  const listed = (list ?? []).filter((finding) => !finding.kind && (finding.pointer || finding.file !== shownAbove));
  const isFine = list?.length === 0 && !broken.value && rules?.state !== "broken";
  return (
    <main class="screen" aria-labelledby="title">
      <header class="top">
        <h1 id="title">Problems</h1>
        <span class="count" aria-live="polite">
          {all > 0 && count(all, "problem")}
        </span>
      </header>
      {broken.value && (
        <Fault
          title={`${file?.collection ? file.collection + ".json" : "The file"} cannot be loaded`}
          detail={broken.value}
          file={file}
        >
          {"Fix it in your editor and save it." +
            (file?.collection ? " The other files can be written meanwhile." : "")}
        </Fault>
      )}
      {rules?.state === "broken" && (
        <Fault title={rules.name + " cannot be used"} detail={rules.detail ?? ""} file={rules}>
          Fix it in your editor and save it.
        </Fault>
      )}
      {error !== null && <ErrorBox error={error} />}
      {list === null && error === null && <Skeleton count={3} />}
      {isFine && (
        <Empty icon="check" title="No problems">
          <p>The file parses, all records follow the schema, and no edit has undone what clients wrote.</p>
        </Empty>
      )}
      {edits.value.length > 0 && (
        <section class="card">
          <h2>Undone by edits of the file</h2>
          <ul class="findings">
            {edits.value.map((edit) => (
              <EditLine key={edit.rev} edit={edit} />
            ))}
          </ul>
        </section>
      )}
      {groupsOf(listed, collectionOf).map(([name, ofCollection]) => (
        <section key={name} class="card">
          <h2>{name || "The file"}</h2>
          {groupsOf(ofCollection, kindOf).map(([kind, alike]) => (
            <ul key={kind} class="findings">
              <MendAll alike={alike} />
              {alike.slice(0, shown).map((finding) => (
                <FindingLine key={finding.pointer + finding.detail} finding={finding} />
              ))}
              {alike.length > shown && <li class="dim">and {formatCount(alike.length - shown)} more</li>}
            </ul>
          ))}
        </section>
      ))}
      {list !== null && total > list.length && <p class="dim">and {formatCount(total - list.length)} more</p>}
    </main>
  );
}

interface FaultProps {
  title: string;
  detail: string;
  file: SourceFile | undefined;
  children: string;
}

function Fault({ title, detail, file, children }: FaultProps) {
  return (
    <div class="wrong" role="alert">
      <Icon name="alert" size={20} />
      <div>
        <strong>{title}</strong>
        <p>{detail}</p>
        {file?.excerpt && <Excerpt line={file.line ?? 1} {...file.excerpt} />}
        <p class="dim">{children}</p>
      </div>
    </div>
  );
}

/** A part of a line, with a caret under the place that is wrong. */
function Excerpt({ line, text, caret }: { line: number; text: string; caret: number }) {
  const margin = line + " │ ",
    characters = [...text].map(visible);
  const before = margin + characters.slice(0, caret - 1).join("");
  return (
    <pre class="code" tabIndex={0} role="region" aria-label={"Line " + line}>
      {before}
      <mark>{characters[caret - 1] ?? ""}</mark>
      {characters.slice(caret).join("")}
      {"\n" + before.replace(/[^\t]/gu, " ") + "^"}
    </pre>
  );
}

/** Returns what shows a character, which may be a control character. */
const visible = (character: string): string =>
  character < " " && character !== "\t" ? String.fromCharCode(0x2400 + character.charCodeAt(0)) : character;

const collectionOf = (finding: Finding): string => finding.collection ?? pointerNames(finding.pointer ?? "")[0] ?? "";

/** Returns what findings that are mended alike have in common. */
const kindOf = (finding: Finding): string =>
  mendOf(finding) ? JSON.stringify([memberNames(finding), finding.suggestion]) : "";

function groupsOf(list: Finding[], nameOf: (finding: Finding) => string): [name: string, list: Finding[]][] {
  const groups = new Map<string, Finding[]>();
  for (const finding of list) {
    const name = nameOf(finding);
    if (!groups.get(name)?.push(finding)) groups.set(name, [finding]);
  }
  return [...groups];
}

/** A change that mends a finding. */
interface Mend {
  collection: string;
  id: string;
  member: string;
  value: string;
}

/**
 * Returns how a finding can be mended, if the server suggests a value for a field of
 * a record. For the name of an unknown field it suggests a name, which is not a choice.
 */
function mendOf(finding: Finding): Mend | null {
  const { collection, id, suggestion } = finding;
  const [member, ...below] = memberNames(finding);
  if (!collection || !id || !suggestion || member === undefined || below.length > 0) return null;
  return fieldOf(shapeFor(collection), member).choices.includes(suggestion)
    ? { collection, id, member, value: suggestion }
    : null;
}

async function apply({ collection, id, member, value }: Mend): Promise<string> {
  const path = pathOf(collection, id),
    now = await get(path);
  return (await ask("PATCH", path, { body: stringify({ [member]: value }), tag: now.tag })).revision;
}

function FindingLine({ finding }: { finding: Finding }) {
  const { collection, id, file, line, column } = finding,
    mend = mendOf(finding);
  const [member] = memberNames(finding);
  const run = async () => {
    try {
      toastUndo(`${mend!.member} of ${collection} ${id} is ${mend!.value}`, await apply(mend!));
    } catch (error) {
      toastError("Could not change it.", error);
    }
  };
  return (
    <li>
      <Icon name="alert" size={15} />
      <div>
        <p>{finding.detail}</p>
        <p class="dim">
          <span class="code">{(file ?? "") + (line ? `:${line}:${column}` : "")}</span>
          {collection && id && (
            <>
              {" · "}
              <a href={href([collection, id])}>
                {collection} {id}
              </a>
            </>
          )}
          {member && (
            <>
              {" · "}
              <span class="code">{member}</span>
            </>
          )}
        </p>
      </div>
      {mend && <WriteButton onClick={() => void run()}>Set it to “{mend.value}”</WriteButton>}
      {collection && id && (
        <a class="button" href={href([collection, id])}>
          Open
        </a>
      )}
    </li>
  );
}

/** An edit that has undone what clients had written. */
function EditLine({ edit }: { edit: Finding }) {
  return (
    <li>
      <Icon name="alert" size={15} />
      <div>
        <p>{edit.detail}</p>
        <p class="dim">
          <Ago at={edit.at ?? ""} /> · <a href={href(["_", "changes"])}>Changes</a>
        </p>
      </div>
      <WriteButton onClick={() => void putBack(edit)}>Put back</WriteButton>
      <WriteButton kind="quiet" onClick={() => void dismissEdit(edit)}>
        Dismiss
      </WriteButton>
    </li>
  );
}

/** Mends findings that have the same suggestion. */
function MendAll({ alike }: { alike: Finding[] }) {
  const mends = alike.map(mendOf).filter((mend) => mend !== null),
    [first] = mends;
  if (!first || mends.length < 2 || isReadOnly.value) return null;
  const { collection, member, value } = first;
  const run = async () => {
    const ids = new Set(mends.map((mend) => mend.id));
    try {
      const operations = [...ids].map((id): Operation => ({
        op: "update",
        collection,
        id,
        record: { [member]: value },
      }));
      await changeRecords(operations, count(ids.size, "record") + " changed");
    } catch (error) {
      toastError("Nothing was changed.", error);
    }
  };
  return (
    <li>
      <WriteButton onClick={() => void run()}>
        Set all {formatCount(mends.length)} to “{value}”
      </WriteButton>
    </li>
  );
}
